extension HTTP1Request {
    /// Creates a request from its parts, for code that checks requests without a connection.
    ///
    /// - Throws: `badHeader` if the target is invalid.
    package init(
        method: HTTP1Method, target: String, headers: HTTP1Headers, body: [UInt8], peer: HTTP1Peer
    ) throws(HTTP1Error) {
        let parsed: HTTP1Target
        do {
            parsed = try HTTP1Target(target, method: method)
        } catch {
            throw HTTP1Error(.badHeader, message: "the target \(printable(target)) is invalid")
        }
        self.init(
            method: method, target: target, path: parsed.path, query: parsed.query, headers: headers, body: body,
            peer: peer)
    }
}
