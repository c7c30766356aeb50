public import Foundation

/// The body of a request. Files are read while they are sent, so that their size does not matter.
public struct RequestBody: Sendable {
    /// A piece of a body.
    enum Part: Sendable, Equatable {
        case bytes(Data)
        case file(URL)
    }

    let parts: [Part]
    let contentType: String?

    private init(_ parts: [Part], contentType: String?) {
        self.parts = parts
        self.contentType = contentType
    }

    var isNone: Bool { parts.isEmpty }

    /// No body.
    public static let none = RequestBody([], contentType: nil)

    /// Returns a body of these bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody([.bytes(data)], contentType: contentType)
    }

    /// Returns a value as JSON.
    public static func json(_ value: some Encodable) throws -> RequestBody {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return .data(try encoder.encode(value), contentType: "application/json")
    }

    /// Returns the fields of a form, as a browser sends them.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        let text = fields.map { "\(formEncoded($0.key))=\(formEncoded($0.value))" }.joined(separator: "&")
        return .data(Data(text.utf8), contentType: "application/x-www-form-urlencoded")
    }

    /// Returns the contents of a file.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody([.file(url)], contentType: contentType)
    }

    /// Returns a form with files.
    public static func multipart(_ form: MultipartForm) -> RequestBody {
        RequestBody(form.encodedParts, contentType: "multipart/form-data; boundary=\(form.boundary)")
    }

    /// Percent-encodes all but letters, digits and `*-._`, with `+` for a space.
    private static func formEncoded(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2a, 0x2d, 0x2e, 0x5f: result.append(byte)
            case 0x20: result.append(0x2b)
            default: result += [0x25, hexDigit(byte >> 4), hexDigit(byte & 15)]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}
