//! The name under which a party is known.

use crate::IdentityError;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a certificate (DER); written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of the first certificate in a PEM file.
    pub fn of_pem(certificate_pem: &str) -> Result<Self, IdentityError> {
        parse_certificate(certificate_pem).map(|certificate| Self::of(&certificate))
    }

    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

/// The first certificate of a PEM file, which must be one that TLS can use.
pub(super) fn parse_certificate(pem: &str) -> Result<CertificateDer<'static>, IdentityError> {
    let bad = |why: String| IdentityError::Certificate(why);
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes());
    let certificate = certificate.map_err(|error| bad(error.to_string()))?;
    rustls::server::ParsedCertificate::try_from(&certificate)
        .map_err(|error| bad(error.to_string()))?;
    Ok(certificate)
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let wrong = || IdentityError::Fingerprint(text.into());
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let digit = |character: u8| char::from(character).to_digit(16).ok_or_else(wrong);
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Identity;

    #[test]
    fn the_text_form_reads_back_in_either_case() -> Result<(), IdentityError> {
        let fingerprint = Identity::generate("a party")?.fingerprint();
        let text = fingerprint.to_string();
        assert_eq!(text.len(), 64);
        assert_eq!(text.parse::<Fingerprint>()?, fingerprint);
        assert_eq!(text.to_uppercase().parse::<Fingerprint>()?, fingerprint);
        Ok(())
    }

    #[test]
    fn other_texts_are_refused() {
        let (short, long, strange) = ("0".repeat(63), "0".repeat(65), "g".repeat(64));
        for text in ["", &short, &long, &strange, &format!("+{short}"), &"é".repeat(32)] {
            let refused = text.parse::<Fingerprint>();
            assert!(matches!(refused, Err(IdentityError::Fingerprint(_))), "{text}");
        }
    }

    /// openssl req -x509 -newkey ed25519 -nodes -subj "/CN=made by openssl" -days 36500
    const OPENSSL_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBSjCB/aADAgECAhRlfFwbyuMaiDllieoIQhJNtszSvDAFBgMrZXAwGjEYMBYG
A1UEAwwPbWFkZSBieSBvcGVuc3NsMCAXDTI2MTExOTAyMjMwOVoYDzIxMjYxMDI2
MDIyMzA5WjAaMRgwFgYDVQQDDA9tYWRlIGJ5IG9wZW5zc2wwKjAFBgMrZXADIQDM
adsDpAAODMtAhs/YY9BdzTUSaoUsR+CcXyCQw/lcuqNTMFEwHQYDVR0OBBYEFD9b
xk5OoAzuv0r5jhqz/ytl6kkkMB8GA1UdIwQYMBaAFD9bxk5OoAzuv0r5jhqz/ytl
6kkkMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EAWp8NiNSMQoH9+GuEwtJ+/dU8
2QyK/yTW09CfLT8mHAWLU3eGOyN5mgPUbpBASALati21O8Y4CK4Me0S+/3LeAQ==
-----END CERTIFICATE-----
";

    /// openssl x509 -noout -fingerprint -sha256, without the colons
    const OPENSSL_FINGERPRINT: &str =
        "132dc52c79f91f9bc20fb9f7dee64fa00d783c293ae3bee9f1fe3ed5b543a8b5";

    #[test]
    fn it_is_the_one_that_openssl_prints() -> Result<(), IdentityError> {
        let fingerprint = Fingerprint::of_pem(OPENSSL_CERTIFICATE)?;
        assert_eq!(fingerprint.to_string(), OPENSSL_FINGERPRINT);
        Ok(())
    }

    #[test]
    fn two_identities_of_one_name_differ() -> Result<(), IdentityError> {
        let (one, other) = (Identity::generate("same name")?, Identity::generate("same name")?);
        assert_eq!(Fingerprint::of_pem(one.certificate_pem())?, one.fingerprint());
        assert_ne!(one.fingerprint(), other.fingerprint());
        Ok(())
    }
}
