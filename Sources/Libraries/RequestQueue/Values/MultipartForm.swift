public import Foundation

/// A form with text fields and files (`multipart/form-data`, RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.add("title", value: "Holiday")
/// form.add("photo", file: photo, contentType: "image/jpeg")
/// let request = Request.post(url, body: .multipart(form))
/// ```
public struct MultipartForm: Sendable {
    private enum Content: Sendable {
        case bytes(Data)
        case file(URL)
    }

    private struct Entry: Sendable {
        var head: String
        var content: Content
    }

    private var entries: [Entry] = []
    /// The line that separates the entries. It is random, so that no content contains it.
    let boundary: String

    /// Creates an empty form.
    public init() {
        var generator = SystemRandomNumberGenerator()
        let halves = (0..<2).map { _ in String(generator.next() as UInt64, radix: 36) }
        boundary = "form-\(halves.joined())"
    }

    /// Adds a text field.
    public mutating func add(_ name: String, value: String) {
        entries.append(Entry(head: Self.disposition(name), content: .bytes(Data(value.utf8))))
    }

    /// Adds bytes as a file.
    public mutating func add(
        _ name: String, data: Data, filename: String, contentType: String = "application/octet-stream"
    ) {
        entries.append(
            Entry(
                head: Self.disposition(name, filename: filename) + Self.type(contentType), content: .bytes(data)))
    }

    /// Adds a file, which is read while it is sent. The filename is that of the file unless it is given.
    public mutating func add(
        _ name: String, file: URL, filename: String? = nil, contentType: String = "application/octet-stream"
    ) {
        entries.append(
            Entry(
                head: Self.disposition(name, filename: filename ?? file.lastPathComponent) + Self.type(contentType),
                content: .file(file)))
    }

    /// The form as pieces of a body.
    var encodedParts: [RequestBody.Part] {
        var parts: [RequestBody.Part] = []
        var text = ""
        for entry in entries {
            text += "--\(boundary)\r\n\(entry.head)\r\n"
            parts.append(.bytes(Data(text.utf8)))
            switch entry.content {
            case .bytes(let data): parts.append(.bytes(data))
            case .file(let url): parts.append(.file(url))
            }
            text = "\r\n"
        }
        parts.append(.bytes(Data("\(text)--\(boundary)--\r\n".utf8)))
        return parts
    }

    private static func disposition(_ name: String, filename: String? = nil) -> String {
        let file = filename.map { "; filename=\"\(quoted($0))\"" } ?? ""
        return "Content-Disposition: form-data; name=\"\(quoted(name))\"\(file)\r\n"
    }

    private static func type(_ contentType: String) -> String {
        "Content-Type: \(contentType.filter { !$0.isNewline })\r\n"
    }

    /// Escapes what would end the quoted text or the line, as browsers do.
    private static func quoted(_ text: String) -> String {
        String(
            text.unicodeScalars.reduce(into: "") { result, scalar in
                switch scalar {
                case "\"": result += "%22"
                case "\r": result += "%0D"
                case "\n": result += "%0A"
                default: result.unicodeScalars.append(scalar)
                }
            })
    }
}
