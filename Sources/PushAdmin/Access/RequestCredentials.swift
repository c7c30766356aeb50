import PushTransport
import PushWire

/// The header fields of a request that authenticate it.
struct RequestCredentials {
    private(set) var inputs: [String] = []
    private(set) var signatures: [String] = []
    private(set) var digests: [String] = []
    private(set) var authorizations: [String] = []

    /// Collects the fields in one pass: a request has many others.
    init(_ headers: HTTP1Headers) {
        for field in headers.fields {
            switch field.name.utf8.count {
            case 9 where field.name.isField("signature"): signatures.append(field.value)
            case 13 where field.name.isField("authorization"): authorizations.append(field.value)
            case 14 where field.name.isField("content-digest"): digests.append(field.value)
            case 15 where field.name.isField("signature-input"): inputs.append(field.value)
            default: break
            }
        }
    }
}

extension String {
    /// Returns whether this is the name of the field, which is given in lower case.
    fileprivate func isField(_ name: String) -> Bool {
        zip(utf8, name.utf8).allSatisfy { byte, lower in
            byte == lower || ((0x41...0x5a).contains(byte) && byte | 0x20 == lower)
        }
    }
}
