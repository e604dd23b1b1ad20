"""The loop: stages of a recipe over one model, with checks in hard mode, resumable after every epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from degreespar.degree import DegreePolicy
from degreespar.degree.prices import Prices
from degreespar.degree.stages import facts, without_unused
from degreespar.models.bert import Bert
from degreespar.models.relaxed import Ladder
from degreespar.training.classifier import Classifier, behave, contractions, right_answers
from degreespar.training.errors import RunError
from degreespar.training.execution import PLAIN, Execution
from degreespar.training.learned import Aware, learned_behaviours
from degreespar.training.loop import TrainSettings, make_optimiser
from degreespar.training.policies import uniform_policy
from degreespar.training.progress import Position, Progress
from degreespar.training.public_table import freeze_tables
from degreespar.training.recipe import ADAPT, FINISH, SPARSIFY, Recipe, Stage
from degreespar.training.run_folder import BEST, STATE, RunFolder
from degreespar.training.snap import merged, snapped
from degreespar.training.sparsify import LAMBDA_UNIT, Pressure, Sparsifier, falling_target
from degreespar.training.step_prices import StepPrices, step_prices
from degreespar.training.stop import StopRule
from degreespar.training.task import Examples, Task, in_order, shuffled
from degreespar.training.variables import PolicyVariables, Space, even_sizes
from degreespar.training.workers import Workers

UNCOMPRESSED = (6, 4)
"""Squarings and order that costs are compared with: the paper's baseline."""
REPORT_EVERY_S = 10.0


class Compression:
    """One run. `model` is trained in place; `teacher`, the uncompressed one, is what it is compared with."""

    def __init__(
        self,
        model: Classifier,
        teacher: Classifier,
        task: Task,
        recipe: Recipe,
        prices: Prices,
        folder: RunFolder,
        workers: Workers,
        seed: int,
        report: Callable[[Progress], None],
        execution: Execution = PLAIN,
    ) -> None:
        self.model, self.task, self.recipe, self.prices = model.to(workers.device), task, recipe, prices
        self.folder, self.workers, self.seed, self.report = folder, workers, seed, report
        self.teacher = teacher.to(workers.device).eval()
        if recipe.public_table and isinstance(model, Bert):
            freeze_tables(model)
        sizes = even_sizes(model.geometry.tokens - 1, min(recipe.ranges, model.geometry.tokens - 1))
        space = Space(sizes, Ladder(recipe.squarings), Ladder(recipe.orders), recipe.transition_layer)
        self.variables = PolicyVariables(space, model.geometry, recipe.start_squarings, recipe.start_order)
        self.variables.to(workers.device)
        self.whole_s = prices.model_s(uniform_policy(model.geometry, *UNCOMPRESSED), model.geometry)
        self.sparsifier = Sparsifier(self.variables, recipe.sparsify)
        self.position = Position()
        self.execution = execution
        self.kept: list[int] = []
        self.cost_ratio = 1.0
        self.optimiser: torch.optim.Optimizer | None = None
        self.step_prices: StepPrices | None = None

    def run(self) -> None:
        """Every stage from where the folder's checkpoint stands; then `best.pt` holds the result, if any."""
        self._resume()
        if math.isnan(self.position.baseline):
            self.position.baseline = self.accuracy(self.task.held_out, self.teacher)
            self._row("baseline", accuracy=self.position.baseline, cost_ratio=1.0)
        for number in range(self.position.stage, len(self.recipe.stages)):
            stage = self.recipe.stages[number]
            self._begin_stage(stage)
            for epoch in range(self.position.epoch, stage.epochs):
                self._epoch(number, stage, epoch)
                self.position.epoch = epoch + 1
                stopped = stage.kind == SPARSIFY and self._rule().stopped
                if stopped or epoch + 1 == stage.epochs:
                    break
                self._save()
            self.position.stage, self.position.epoch, self.position.failures = number + 1, 0, 0
            self.optimiser = None
            self._save()

    def accuracy(self, examples: Examples, model: Classifier | None = None) -> float:
        """The fraction right, as the model (this run's) now computes; every worker takes its share."""
        model = (model or self.model).eval()
        workers, right = self.workers, 0
        for inputs, labels in in_order(examples, self.recipe.check_batch, workers.number, workers.count):
            right += right_answers(model, inputs, labels)
        return workers.total(right) / len(examples)

    def policy(self) -> DegreePolicy:
        """The variables as an executable policy, not yet calibrated."""
        return merged(snapped(self.variables))

    def restore_best(self) -> bool:
        """Take up the last valid checkpoint; False where there is none."""
        state = self.folder.load(BEST, self.workers.device)
        if state is None:
            return False
        self.model.load_state_dict(state["model"])
        self.variables.load_state_dict(state["variables"])
        return True

    def nothing_valid(self) -> RunError:
        """What a run ends in that never satisfied its stop rule."""
        points, baseline = self.recipe.tolerance_points, 100 * self.position.baseline
        return RunError(
            f"no checkpoint came within {points} points of the uncompressed {baseline:.2f} %: no result"
        )

    def _rule(self) -> StopRule:
        recipe, position = self.recipe, self.position
        rule = StopRule.under(position.baseline, recipe.tolerance_points, recipe.patience)
        return replace(rule, failures=position.failures)

    def _begin_stage(self, stage: Stage) -> None:
        if stage.kind == FINISH and self.position.epoch == 0 and not self.restore_best():
            raise self.nothing_valid()
        if self.optimiser is None:
            self.optimiser = self._make_optimiser(stage)
        if math.isnan(self.position.exchange):
            self.position.exchange = self.recipe.sparsify.lambda_grp * LAMBDA_UNIT
        if stage.kind == SPARSIFY and self.position.epoch == 0:
            self._measure_cost()
            self.position.start_ratio = self.position.checked_ratio = self.cost_ratio

    def _behave(self, stage: Stage) -> None:
        """The behaviours of training; of a sparsify stage anew only when ranges went."""
        functions = self.execution.functions
        if stage.kind == ADAPT:
            layers = range(self.model.geometry.layers)
            start = self.recipe.start_squarings, self.recipe.start_order
            behave(self.model, [Aware(*start, stage.awareness, functions) for _ in layers])
        elif stage.kind == SPARSIFY:
            self.kept = self.variables.kept_ranges()
            behave(self.model, learned_behaviours(self.variables, stage.awareness, functions))
        else:
            self.model.use(self.policy(), functions)

    def _epoch(self, number: int, stage: Stage, epoch: int) -> None:
        workers = self.workers
        torch.manual_seed(((self.seed * 1009 + number) * 1009 + epoch) * 1009 + workers.number)
        count = min(stage.examples or len(self.task.training), len(self.task.training))
        steps = count // stage.batch
        if not steps or stage.batch % workers.count:
            raise RunError(f"batches of {stage.batch} do not fit {count} examples or {workers.count} workers")
        data_seed = (self.seed * 1009 + number) * 1009 + epoch
        batches = shuffled(self.task.training, count, stage.batch, data_seed, workers.number, workers.count)
        checks = stage.checks(steps)
        started_s = told_s = time.perf_counter()
        # Whatever a resumed run has to find again is taken anew at the start of every epoch.
        self._measure_cost()
        self._behave(stage)
        self.model.train()
        for step, (inputs, labels) in enumerate(batches, 1):
            done = (epoch + (step - 1) / steps) / stage.epochs
            loss = self._step(stage, inputs, labels, done)
            if stage.kind == SPARSIFY:
                self._move(stage, step, done)
            if time.perf_counter() - told_s > REPORT_EVERY_S or step == steps:
                told_s = time.perf_counter()
                left = (told_s - started_s) / step * ((stage.epochs - epoch) * steps - step)
                self._tell(stage, epoch, step, steps, float(loss), left)
            if step in checks:
                self._check(stage, epoch + step / steps, float(loss))
                if stage.kind == SPARSIFY and self._rule().stopped:
                    return

    def _step(self, stage: Stage, inputs: Tensor, labels: Tensor, done: float) -> Tensor:
        assert self.optimiser is not None
        for group in self.optimiser.param_groups:
            group["lr"] = stage.rate(done)
        varied = self.task.vary(inputs)
        with self.execution.products(self.workers.device):
            logits = self.model(varied).float()
        loss = functional.cross_entropy(logits, labels, label_smoothing=stage.label_smoothing)
        if stage.distill:
            loss = (1 - stage.distill) * loss + stage.distill * self._distance(logits, varied)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        moving = [*self.model.parameters(), *self.variables.parameters()]
        self.workers.mean_gradients(moving)
        nn.utils.clip_grad_norm_(self.model.parameters(), stage.clip_norm)
        self.optimiser.step()
        return loss.detach()

    def _distance(self, logits: Tensor, inputs: Tensor) -> Tensor:
        """Cross entropy with the uncompressed model's answer."""
        with torch.no_grad(), self.execution.products(self.workers.device):
            wanted = self.teacher(inputs).float().softmax(dim=-1)
        return functional.cross_entropy(logits, wanted)

    def _move(self, stage: Stage, step: int, done: float) -> None:
        """Degrees move after weights; costs and prices are taken anew every few steps."""
        settings, position = self.recipe.sparsify, self.position
        if step % self.recipe.steps_per_price == 0:
            self._measure_cost()
        assert self.step_prices is not None
        # While a check says that accuracy is too low, weights may recover before the rule fires; and
        # between two checks cost falls by so much at most that recovering is possible.
        least = position.checked_ratio * (1 - settings.most_fall)
        pressure = Pressure(position.exchange, on=not position.paused and self.cost_ratio > least)
        target = falling_target(position.start_ratio, settings.target_ratio, done, settings.target_until)
        if pressure.on:
            pressure.follow(self.cost_ratio, target, settings.lambda_gain)
            position.exchange = pressure.exchange
        self.sparsifier.step(self.step_prices, pressure, contractions(self.model), stage.batch)
        if self.variables.kept_ranges() != self.kept:
            self._measure_cost()
            self._behave(stage)

    def _measure_cost(self) -> None:
        policy, geometry = snapped(self.variables), self.model.geometry
        self.cost_ratio = self._ratio(merged(policy))
        self.step_prices = step_prices(self.variables, policy, self.prices, geometry, self.whole_s)

    def _ratio(self, policy: DegreePolicy) -> float:
        """Cost beside the uncompressed model's; dimensions that nobody uses are not there."""
        return self.prices.model_s(without_unused(policy), self.model.geometry) / self.whole_s

    def _check(self, stage: Stage, epoch: float, loss: float) -> None:
        """Hold-out accuracy as deployed; a valid checkpoint is kept, in a finish stage only if better."""
        policy = self.policy()
        self.model.use(policy, self.execution.functions)
        accuracy, ratio = self.accuracy(self.task.held_out), self._ratio(policy)
        rule = self._rule().after(accuracy)
        position = self.position
        position.failures, position.paused = rule.failures, not rule.valid(accuracy)
        position.checked_ratio = ratio
        better = stage.kind != FINISH or accuracy >= position.best_accuracy
        if rule.valid(accuracy) and better:
            position.best_accuracy = accuracy
            if self.workers.first:
                self.folder.save(BEST, self._tensors())
        self._row(stage.kind, epoch=epoch, loss=loss, accuracy=accuracy, cost_ratio=ratio, **facts(policy))
        self._behave(stage)
        self.model.train()

    def _row(self, stage: str, **values: object) -> None:
        self.position.rows += 1
        if self.workers.first:
            self.folder.append({"stage": stage, "exchange": self._exchange(), **values})

    def _exchange(self) -> float | None:
        return None if math.isnan(self.position.exchange) else self.position.exchange

    def _tell(self, stage: Stage, epoch: int, step: int, steps: int, loss: float, left_s: float) -> None:
        if self.workers.first:
            ratio = self.cost_ratio
            self.report(Progress(stage.kind, epoch + 1, stage.epochs, step, steps, loss, ratio, left_s))

    def _make_optimiser(self, stage: Stage) -> torch.optim.Optimizer:
        settings = TrainSettings(stage.epochs, stage.learning_rate, weight_decay=stage.weight_decay)
        return make_optimiser(self.model, settings)

    def _tensors(self) -> dict[str, object]:
        return {"model": self.model.state_dict(), "variables": self.variables.state_dict()}

    def _save(self) -> None:
        if self.workers.first:
            optimiser = None if self.optimiser is None else self.optimiser.state_dict()
            state = {"position": asdict(self.position), "optimiser": optimiser}
            self.folder.save(STATE, state | self._tensors() | {"smoothed": self.sparsifier.state()})
        self.workers.wait()

    def _resume(self) -> None:
        state = self.folder.load(STATE, self.workers.device)
        if state is not None:
            self.position = Position(**state["position"])
            self.model.load_state_dict(state["model"])
            self.variables.load_state_dict(state["variables"])
            self.sparsifier.restore(state["smoothed"])
            if state["optimiser"] is not None:
                self.optimiser = self._make_optimiser(self.recipe.stages[self.position.stage])
                self.optimiser.load_state_dict(state["optimiser"])
        if self.workers.first:
            self.folder.cut_rows(self.position.rows)
        self.workers.wait()
