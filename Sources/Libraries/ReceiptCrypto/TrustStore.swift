private import COpenSSL

/// The root certificates that are trusted, and the check of chains that end at one of them.
@safe
package final class TrustStore: @unchecked Sendable {
    // Unchecked: the store is not changed after it was filled, and OpenSSL locks it while it searches.
    private let store: OpaquePointer

    /// Creates a store of roots in DER. There must be at least one.
    package init(roots: [[UInt8]]) throws(CertificateFault) {
        guard let store = unsafe X509_STORE_new() else { throw .malformed(.root, cause: "out of memory") }
        unsafe self.store = store
        guard !roots.isEmpty else { throw .malformed(.root, cause: "there is no root certificate") }
        for der in roots {
            let root = try Certificate(der: der, position: .root)
            guard root.isAuthority else {
                throw .malformed(.root, cause: "it is not the certificate of an authority: \(root.subject)")
            }
            guard unsafe X509_STORE_add_cert(store, root.pointer) == 1 else {
                throw .malformed(.root, cause: Self.lastError)
            }
        }
        ERR_clear_error()
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// Checks that a trusted root signed the intermediate, that the intermediate signed the leaf, and that both have
    /// the extensions of their purpose. Does not compare the validity with any time: the chain carries it.
    package func chain(leaf: [UInt8], intermediate: [UInt8]) throws(CertificateFault) -> SigningChain {
        let leaf = try Certificate(der: leaf, position: .leaf)
        let intermediate = try Certificate(der: intermediate, position: .intermediate)
        guard let leafTimes = leaf.validity else { throw .malformed(.leaf, cause: "its dates are malformed") }
        guard let times = intermediate.validity else {
            throw .malformed(.intermediate, cause: "its dates are malformed")
        }
        let root = try verify(leaf, through: intermediate)
        guard leaf.hasExtension(SigningChain.leafPurpose) else { throw .missingPurpose(.leaf) }
        guard intermediate.hasExtension(SigningChain.intermediatePurpose) else { throw .missingPurpose(.intermediate) }
        guard leaf.hasP256Key else { throw .wrongKey }
        guard let rootTimes = root.validity else { throw .malformed(.root, cause: "its dates are malformed") }
        return SigningChain(
            leaf: leaf, intermediate: intermediate, root: root,
            validFrom: max(leafTimes.from, times.from, rootTimes.from),
            validUntil: min(leafTimes.until, times.until, rootTimes.until))
    }

    /// Returns the root of the verified chain.
    private func verify(
        _ leaf: borrowing Certificate, through intermediate: borrowing Certificate
    ) throws(CertificateFault) -> Certificate {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let context = unsafe X509_STORE_CTX_new() else { throw .untrusted(cause: "out of memory") }
        defer { unsafe X509_STORE_CTX_free(context) }
        guard let given = unsafe OPENSSL_sk_new_null() else { throw .untrusted(cause: "out of memory") }
        defer { unsafe OPENSSL_sk_free(given) }
        guard unsafe OPENSSL_sk_push(given, UnsafeRawPointer(intermediate.pointer)) > 0,
            unsafe X509_STORE_CTX_init(context, store, leaf.pointer, given) == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context)
        else { throw .untrusted(cause: Self.lastError) }
        // The times are compared by the caller, with the time at which the data was signed. The depth counts the
        // certificates between leaf and root.
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        unsafe X509_VERIFY_PARAM_set_depth(parameters, 1)
        // Keys of at least 112 bits of security, and no SHA-1.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard unsafe X509_verify_cert(context) == 1 else {
            throw .untrusted(cause: unsafe Self.cause(of: context))
        }
        return try unsafe Self.root(of: context, through: intermediate)
    }

    /// Checks that the verified chain is leaf, the given intermediate, and root, and returns the root.
    private static func root(
        of context: OpaquePointer, through intermediate: borrowing Certificate
    ) throws(CertificateFault) -> Certificate {
        guard let chain = unsafe X509_STORE_CTX_get0_chain(context), unsafe OPENSSL_sk_num(chain) == 3,
            let second = unsafe OPENSSL_sk_value(chain, 1), let third = unsafe OPENSSL_sk_value(chain, 2),
            unsafe X509_cmp(OpaquePointer(second), intermediate.pointer) == 0
        else { throw .untrusted(cause: "the chain is not leaf, intermediate and root") }
        guard intermediate.isAuthority else { throw .untrusted(cause: "the intermediate is not an authority") }
        let root = OpaquePointer(third)
        guard unsafe X509_up_ref(root) == 1 else { throw .untrusted(cause: "out of memory") }
        return unsafe Certificate(owning: root)
    }

    private static func cause(of context: OpaquePointer) -> String {
        let error = unsafe X509_STORE_CTX_get_error(context)
        return unsafe X509_verify_cert_error_string(Int(error)).map { unsafe String(cString: $0) } ?? "error \(error)"
    }

    private static var lastError: String {
        let code = ERR_get_error()
        return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "OpenSSL failed"
    }
}
