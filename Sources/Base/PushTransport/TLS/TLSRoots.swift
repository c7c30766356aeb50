private import COpenSSL

/// Trusted certificates that have been read, for any number of contexts. Those of the system take milliseconds and most
/// of a megabyte.
@safe
package final class TLSRoots: @unchecked Sendable {
    // Unchecked: immutable after `init`, and X509_STORE has a lock.

    let store: OpaquePointer
    /// The certificates that are trusted besides the system's, or instead of them.
    let own: [X509Certificate]
    /// Whether the system's roots are to be trusted but are not installed, for error messages.
    let lacksSystemRoots: Bool

    /// Reads the certificates.
    fileprivate init(of sources: [PEMSource], includingSystem includesSystem: Bool) throws(TLSError) {
        guard includesSystem || !sources.isEmpty else {
            throw TLSError(.invalidConfiguration, message: "the list of trusted certificates is empty")
        }
        var certificates: [X509Certificate] = []
        for source in sources {
            do {
                certificates += try source.certificates()
            } catch {
                throw TLSError(error)
            }
        }
        own = certificates
        lacksSystemRoots = includesSystem && !SystemRoots.areInstalled()
        OpenSSLErrors.clear()
        guard let store = unsafe X509_STORE_new() else {
            throw TLSError(.outOfMemory, message: "cannot create a store of roots: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.store = store
        if includesSystem, unsafe X509_STORE_set_default_paths(store) != 1 {
            throw TLSError(
                .invalidConfiguration,
                message: "the system's trusted roots cannot be used for TLS: \(OpenSSLErrors.drain().text)")
        }
        for certificate in certificates {
            guard unsafe X509_STORE_add_cert(store, certificate.pointer) == 1 else {
                throw TLSError(
                    .invalidConfiguration,
                    message: "certificate \(CertificateInfo(certificate).subject) cannot be trusted: "
                        + OpenSSLErrors.drain().text)
            }
        }
    }

    deinit { unsafe X509_STORE_free(store) }
}

extension TLSTrust {
    /// Reads the certificates, unless they have been read.
    package func roots() throws(TLSError) -> TLSRoots {
        switch self {
        case .system: try TLSRoots(of: [], includingSystem: true)
        case .systemAnd(let extra): try TLSRoots(of: extra, includingSystem: true)
        case .only(let own): try TLSRoots(of: own, includingSystem: false)
        case .shared(let roots): roots
        }
    }
}
