/// A request to the control port, already parsed by the HTTP server.
package struct ControlRequest: Sendable {
    package var method: String
    /// The path without the query.
    package var path: String
    /// The text after the question mark, still percent-encoded.
    package var query: String
    package var body: [UInt8]

    package init(method: String, path: String, query: String = "", body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}
