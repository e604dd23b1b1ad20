//! What a party shows and proves: a self-signed certificate and its key.

use super::fingerprint::{Fingerprint, parse_certificate};
use crate::IdentityError;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::sign::CertifiedKey;
use std::fmt;

/// A party's certificate and private key (Ed25519 where this crate makes them).
pub struct Identity {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    key_pem: String,
}

impl Identity {
    /// A new identity. The name is for people who read the certificate; nothing is checked against it.
    pub fn generate(name: &str) -> Result<Self, IdentityError> {
        let failed = |error: rcgen::Error| IdentityError::Generate(error.to_string());
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        Self::from_pem(&certificate.pem(), &key.serialize_pem())
    }

    /// Reads an identity back; refuses a key that is not the certificate's.
    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, IdentityError> {
        let certificate = parse_certificate(certificate_pem)?;
        let identity =
            Self { certificate, certificate_pem: certificate_pem.into(), key_pem: key_pem.into() };
        let (chain, key) = identity.chain_and_key()?;
        CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => IdentityError::Mismatch,
            other => IdentityError::Key(other.to_string()),
        })?;
        Ok(identity)
    }

    /// The public part, for a file.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The secret part, for a file that only its owner can read.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// What a peer has to be told in order to trust this party.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    pub(super) fn chain_and_key(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), IdentityError> {
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes());
        let key = key.map_err(|error| IdentityError::Key(error.to_string()))?;
        Ok((vec![self.certificate.clone()], key))
    }
}

impl fmt::Debug for Identity {
    /// Never the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").field("fingerprint", &self.fingerprint()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_what_it_wrote() -> Result<(), IdentityError> {
        let identity = Identity::generate("server of É. Galois")?;
        let again = Identity::from_pem(identity.certificate_pem(), identity.key_pem())?;
        assert_eq!(again.fingerprint(), identity.fingerprint());
        Ok(())
    }

    #[test]
    fn files_that_do_not_belong_together_are_refused() -> Result<(), IdentityError> {
        let (one, other) = (Identity::generate("one")?, Identity::generate("other")?);
        let mixed = Identity::from_pem(one.certificate_pem(), other.key_pem());
        assert!(matches!(mixed, Err(IdentityError::Mismatch)));
        let swapped = Identity::from_pem(one.key_pem(), one.certificate_pem());
        assert!(matches!(swapped, Err(IdentityError::Certificate(_))));
        Ok(())
    }

    #[test]
    fn files_that_are_none_are_refused() -> Result<(), IdentityError> {
        let good = Identity::generate("good")?;
        let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for certificate in ["", "no PEM at all", no_certificate] {
            let refused = Identity::from_pem(certificate, good.key_pem());
            assert!(matches!(refused, Err(IdentityError::Certificate(_))), "{certificate:?}");
        }
        let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for key in ["", "no PEM at all", no_key] {
            let refused = Identity::from_pem(good.certificate_pem(), key);
            assert!(matches!(refused, Err(IdentityError::Key(_))), "{key:?}");
        }
        Ok(())
    }

    #[test]
    fn the_key_stays_out_of_debug_output() -> Result<(), IdentityError> {
        let identity = Identity::generate("quiet")?;
        let secret_line = identity.key_pem().lines().nth(1).unwrap_or_default();
        assert!(secret_line.len() > 20 && !format!("{identity:?}").contains(secret_line));
        Ok(())
    }
}
