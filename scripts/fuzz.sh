#!/usr/bin/env bash
# Every fuzz target for some seconds: scripts/fuzz.sh SECONDS [TARGET...]. What libFuzzer finds lies in fuzz/artifacts/;
# the corpora grow in fuzz/corpus/ (neither is committed). Python's readers follow, under Hypothesis.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
# Coverage by flags that stable Rust takes; no address sanitizer (nightly), so checks of overflow and of bounds find bugs.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
coverage+=" -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
echo "== building the fuzz targets (minutes the first time)"
# --target keeps the flags off build scripts
(cd fuzz && RUSTFLAGS="-Ctarget-cpu=native $coverage" cargo build --release --quiet --target "$host")
cargo run --release --quiet -p degreespar-hostile --example seeds fuzz/corpus | while read -r name longest; do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    echo "== $name, $seconds s"
    mkdir -p "fuzz/artifacts/$name"
    FUZZ_TARGET=$name "fuzz/target/$host/release/degreespar-fuzz" "fuzz/corpus/$name" \
        -max_total_time="$seconds" -max_len="$longest" -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=256 \
        -artifact_prefix="fuzz/artifacts/$name/" -print_final_stats=1 </dev/null 2>&1 |
        grep -E "^(stat::number_of|stat::peak|SUMMARY|==[0-9]+== ERROR|thread|Test unit)|DONE"
done
