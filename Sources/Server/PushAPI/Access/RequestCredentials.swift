import PushTransport

/// The header fields of a request that authenticate it. No other field becomes text.
struct RequestCredentials {
    let inputs: [String]
    let signatures: [String]
    let digests: [String]
    let authorizations: [String]

    init(_ headers: HTTP1Headers) {
        inputs = headers.all("signature-input")
        signatures = headers.all("signature")
        digests = inputs.isEmpty ? [] : headers.all("content-digest")
        authorizations = headers.all("authorization")
    }
}
