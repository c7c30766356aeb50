public import Foundation

/// The answer of a server.
public struct Response: Sendable, Equatable {
    /// The status, such as 200.
    public var status: Int
    /// The header fields. Fields that a server sends several times are one field with commas.
    public var fields: HeaderFields
    /// The body; empty for a download, whose body is in its file.
    public var body: Data
    /// The URL that answered, after redirects.
    public var url: URL
    /// The number of attempts, from 1.
    public var attempts: Int
    /// The number of redirects that were followed.
    public var redirects: Int

    /// Creates a response, for example in a test of a program that uses this library.
    public init(
        status: Int, fields: HeaderFields = HeaderFields(), body: Data = Data(), url: URL, attempts: Int = 1,
        redirects: Int = 0
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.url = url
        self.attempts = attempts
        self.redirects = redirects
    }

    /// Whether the status is from 200 to 299.
    public var isSuccess: Bool { (200...299).contains(status) }

    /// Returns the value that the body encodes as JSON.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: body)
    }
}
