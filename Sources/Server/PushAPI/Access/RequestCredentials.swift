import PushTransport

/// The header fields of a request that authenticate it. No other field becomes text.
struct RequestCredentials {
    let inputs: [String]
    let signatures: [String]
    let digests: [String]
    let authorizations: [String]

    /// - Parameter takesKeyField: Whether a bearer secret may also be in the header `X-API-Key`.
    init(_ headers: HTTP1Headers, takesKeyField: Bool = false) {
        inputs = headers.all("signature-input")
        signatures = headers.all("signature")
        digests = inputs.isEmpty ? [] : headers.all("content-digest")
        let secrets = takesKeyField ? headers.all("x-api-key").map { "Bearer \($0)" } : []
        authorizations = headers.all("authorization") + secrets
    }
}
