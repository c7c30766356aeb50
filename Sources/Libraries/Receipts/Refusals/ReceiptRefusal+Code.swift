extension ReceiptRefusal {
    /// The codes of all refusals. The raw value is the code in JSON.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        // MARK: The form of signed data

        /// The text, or a part of it, is longer than its limit.
        case tooLong = "too_long"
        /// The text has a character that is not ASCII.
        case notASCII = "not_ascii"
        /// The text does not have three segments between dots.
        case wrongSegmentCount = "wrong_segment_count"
        /// A segment is not Base64URL, or a certificate is not Base64.
        case malformedBase64 = "malformed_base64"
        /// A segment has padding, which JWS forbids.
        case paddedBase64 = "padded_base64"
        /// The header is not a JSON object.
        case malformedHeader = "malformed_header"
        /// A key occurs twice in one JSON object, so that two readers may see two values.
        case duplicateKey = "duplicate_key"
        /// The header names another algorithm than ES256.
        case unsupportedAlgorithm = "unsupported_algorithm"
        /// The header has an extension that a verifier must understand, and this one does not.
        case unsupportedHeader = "unsupported_header"

        // MARK: The certificates

        /// The header has no certificates.
        case missingCertificates = "missing_certificates"
        /// The header does not have exactly three certificates.
        case wrongCertificateCount = "wrong_certificate_count"
        /// A certificate cannot be parsed.
        case malformedCertificate = "malformed_certificate"
        /// The chain does not end at a trusted root.
        case untrustedChain = "untrusted_chain"
        /// The leaf does not have the extension of certificates that sign App Store data.
        case wrongLeafPurpose = "wrong_leaf_purpose"
        /// The intermediate does not have the extension of Apple's intermediates.
        case wrongIntermediatePurpose = "wrong_intermediate_purpose"
        /// The leaf has a key of another kind than P-256.
        case wrongKey = "wrong_key"
        /// A certificate was not yet valid when the data was signed.
        case certificateNotYetValid = "certificate_not_yet_valid"
        /// A certificate had expired when the data was signed; or it has expired since, and revocation must be checked.
        case certificateExpired = "certificate_expired"
        /// The authority has revoked a certificate.
        case certificateRevoked = "certificate_revoked"
        /// The responder does not know a certificate, or its response is not valid, and revocation must be checked.
        case revocationUnknown = "revocation_unknown"
        /// The responder cannot be reached, and revocation must be checked. Try again.
        case revocationUnavailable = "revocation_unavailable"

        // MARK: The signature

        /// The signature is not two numbers of 32 bytes.
        case malformedSignature = "malformed_signature"
        /// The signature is not that of the leaf's key for this text.
        case wrongSignature = "wrong_signature"

        // MARK: The content

        /// The payload is not a JSON object, or a value has the wrong type.
        case malformedPayload = "malformed_payload"
        /// The payload does not have a claim that it needs.
        case missingClaim = "missing_claim"
        /// The data is genuine, but of another kind: for example a transaction in place of a notification.
        case wrongKind = "wrong_kind"
        /// The data belongs to an app that is not configured.
        case wrongBundleID = "wrong_bundle_id"
        /// The data has another Apple id than the configured app.
        case wrongAppID = "wrong_app_id"
        /// The data needs the Apple id of the app, and the configuration does not have it.
        case unknownAppID = "unknown_app_id"
        /// The data belongs to an environment that is not accepted.
        case wrongEnvironment = "wrong_environment"
        /// The data is from Xcode or from a local test, where Apple signs nothing.
        case localEnvironment = "local_environment"
        /// A nested part belongs to another app or environment than the data around it.
        case mismatchedContent = "mismatched_content"

        // MARK: Receipts that Apple's server verifies

        /// The receipt is not Base64, is empty, or is too long.
        case malformedReceipt = "malformed_receipt"
        /// Apple's server does not accept the receipt as its own.
        case receiptNotAuthentic = "receipt_not_authentic"
        /// The shared secret is wrong or missing.
        case wrongSharedSecret = "wrong_shared_secret"
        /// The receipt is genuine, and its subscription has expired.
        case subscriptionExpired = "subscription_expired"
        /// The account of the receipt does not exist or was deleted.
        case accountNotFound = "account_not_found"
        /// Apple's server refused the request for a reason that another request cannot change.
        case serviceRefused = "service_refused"
        /// Apple's server cannot be reached, or is temporarily not able to answer. Try again.
        case serviceUnavailable = "service_unavailable"
        /// The response of Apple's server cannot be parsed.
        case malformedResponse = "malformed_response"

        /// Whether the same data may be accepted later.
        public var isRetryable: Bool { self == .revocationUnavailable || self == .serviceUnavailable }
    }
}
