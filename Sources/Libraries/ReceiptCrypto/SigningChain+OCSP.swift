import COpenSSL

/// The check of revocation (OCSP, RFC 6960), without the network.
extension SigningChain {
    /// A certificate of the chain that its issuer may revoke.
    package enum Member: CaseIterable, Sendable {
        case leaf, intermediate
    }

    /// The difference between the clock of a responder and this one that is tolerated.
    private static let skew: Int64 = 300
    /// The maximum age of a response that does not say when the next one is due.
    private static let maxAge: Int64 = 86_400

    /// Returns the address of the responder; nil if the certificate does not name one that uses HTTP.
    package func responder(of member: Member) -> String? {
        let responders = member == .leaf ? leaf.responders : intermediate.responders
        return responders.first { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
    }

    /// Returns a request about the certificate in DER.
    package func ocspRequest(for member: Member) -> [UInt8]? {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let request = unsafe OCSP_REQUEST_new() else { return nil }
        defer { unsafe OCSP_REQUEST_free(request) }
        guard let id = unsafe certificateID(of: member) else { return nil }
        guard unsafe OCSP_request_add0_id(request, id) != nil else {
            unsafe OCSP_CERTID_free(id)
            return nil
        }
        let length = unsafe i2d_OCSP_REQUEST(request, nil)
        guard length > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe i2d_OCSP_REQUEST(request, &next) == length
        } ? bytes : nil
    }

    /// Reads a response about the certificate. It must be signed by the issuer, or by a responder that the issuer has
    /// authorized.
    ///
    /// - Parameter now: The current time in seconds since 1970.
    package func ocspAnswer(_ response: [UInt8], about member: Member, now: Int64) -> OCSPAnswer {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let parsed = unsafe response.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_OCSP_RESPONSE(nil, &next, bytes.count)
        }
        guard let parsed = unsafe parsed else { return .invalid("it is not an OCSP response") }
        defer { unsafe OCSP_RESPONSE_free(parsed) }
        switch unsafe OCSP_response_status(parsed) {
        case OCSP_RESPONSE_STATUS_SUCCESSFUL: break
        case OCSP_RESPONSE_STATUS_TRYLATER, OCSP_RESPONSE_STATUS_INTERNALERROR: return .tryLater
        case let status: return .invalid("the responder refused the request with status \(status)")
        }
        guard let basic = unsafe OCSP_response_get1_basic(parsed) else { return .invalid("it has no content") }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        guard unsafe isSigned(basic, about: member, now: now) else {
            return .invalid("it is not signed by the issuer of the certificate")
        }
        return unsafe answer(in: basic, about: member, now: now)
    }

    private func answer(in basic: OpaquePointer, about member: Member, now: Int64) -> OCSPAnswer {
        guard let id = unsafe certificateID(of: member) else { return .invalid("out of memory") }
        defer { unsafe OCSP_CERTID_free(id) }
        var status: CInt = -1
        var reason: CInt = -1
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var this: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        guard unsafe OCSP_resp_find_status(basic, id, &status, &reason, &revoked, &this, &next) == 1 else {
            return .invalid("it is about another certificate")
        }
        guard let from = unsafe Certificate.seconds(this) else { return .invalid("it has no date") }
        guard from <= now + Self.skew else { return .invalid("it is from the future") }
        if unsafe next != nil {
            guard let until = unsafe Certificate.seconds(next), until >= now - Self.skew else {
                return .invalid("it is out of date")
            }
        } else if from < now - Self.maxAge {
            return .invalid("it is out of date")
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good
        case V_OCSP_CERTSTATUS_REVOKED: return .revoked
        default: return .unknown
        }
    }

    /// Returns a new identifier of the certificate. SHA-1 only names the issuer in it, and every responder knows it.
    private func certificateID(of member: Member) -> OpaquePointer? {
        switch member {
        case .leaf: unsafe OCSP_cert_to_id(EVP_sha1(), leaf.pointer, intermediate.pointer)
        case .intermediate: unsafe OCSP_cert_to_id(EVP_sha1(), intermediate.pointer, root.pointer)
        }
    }

    private func isSigned(_ basic: OpaquePointer, about member: Member, now: Int64) -> Bool {
        guard let store = unsafe X509_STORE_new() else { return false }
        defer { unsafe X509_STORE_free(store) }
        guard unsafe X509_STORE_add_cert(store, root.pointer) == 1,
            let parameters = unsafe X509_STORE_get0_param(store)
        else { return false }
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(now))
        guard let known = unsafe OPENSSL_sk_new_null() else { return false }
        defer { unsafe OPENSSL_sk_free(known) }
        guard unsafe OPENSSL_sk_push(known, UnsafeRawPointer(intermediate.pointer)) > 0,
            unsafe OPENSSL_sk_push(known, UnsafeRawPointer(root.pointer)) > 0
        else { return false }
        // Without this flag a root with a trust setting of its own could sign for other issuers.
        return unsafe OCSP_basic_verify(basic, known, store, UInt(OCSP_NOEXPLICIT)) == 1
    }
}
