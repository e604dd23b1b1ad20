//! Who may be on the other end: the holders of the certificates with these fingerprints, and no one else.

use super::fingerprint::Fingerprint;
use super::identity::Identity;
use crate::IdentityError;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::{cipher_suite::TLS13_AES_128_GCM_SHA256, default_provider};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    PeerIncompatible, ServerConfig, SignatureScheme,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The verifier of both roles. The fingerprint says *which* certificate is meant; that the peer holds its key is shown
/// by its signature over the handshake (RFC 8446, section 4.4.3), which rustls checks through `verify_tls13_signature`.
#[derive(Debug)]
struct Trust {
    trusted: HashSet<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// A certificate that is not among the trusted ones; travels inside a `rustls::Error`.
#[derive(Debug, thiserror::Error)]
#[error("a stranger's certificate, {0}")]
pub(super) struct Stranger(pub(super) Fingerprint);

/// How a server talks to clients that it trusts.
pub(super) fn server_config(
    identity: &Identity,
    trusted: &[Fingerprint],
) -> Result<Arc<ServerConfig>, IdentityError> {
    let (chain, key) = identity.chain_and_key()?;
    let provider = provider();
    let verifier = Trust::new(trusted, &provider);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(unusable)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    // a resumed session would be trusted without its certificate being shown again
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// How a client talks to servers that it trusts.
pub(super) fn client_config(
    identity: &Identity,
    trusted: &[Fingerprint],
) -> Result<Arc<ClientConfig>, IdentityError> {
    let (chain, key) = identity.chain_and_key()?;
    let provider = provider();
    let verifier = Trust::new(trusted, &provider);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_auth_cert(chain, key)
        .map_err(unusable)?;
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// AES-128 first: the protocols above offer 128 bits of security, and its throughput is the higher one.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = default_provider();
    provider.cipher_suites.sort_by_key(|suite| *suite != TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

fn unusable(error: Error) -> IdentityError {
    IdentityError::Key(error.to_string())
}

impl Trust {
    fn new(trusted: &[Fingerprint], provider: &CryptoProvider) -> Arc<Self> {
        Arc::new(Self {
            trusted: trusted.iter().copied().collect(),
            algorithms: provider.signature_verification_algorithms,
        })
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let fingerprint = Fingerprint::of(certificate);
        if self.trusted.contains(&fingerprint) {
            return Ok(());
        }
        let stranger = OtherError(Arc::new(Stranger(fingerprint)));
        Err(Error::InvalidCertificate(CertificateError::Other(stranger)))
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }
}

/// TLS 1.2 is not offered; were it negotiated all the same, nothing would pass.
fn refuse_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Trust {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        refuse_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
