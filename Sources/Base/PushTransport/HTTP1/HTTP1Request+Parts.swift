extension HTTP1Request {
    /// Creates a request from its parts, for code that checks requests without a connection.
    ///
    /// - Throws: `badHeader` if a client could not send such a head.
    package init(
        method: HTTP1Method, target: String, headers: HTTP1Headers, body: [UInt8], peer: HTTP1Peer
    ) throws(HTTP1Error) {
        var text = "\(method.rawValue) \(target) HTTP/1.1\r\n"
        if headers["Host"] == nil { text += "Host: localhost\r\n" }
        for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
        do {
            self.init(head: try HTTP1Head(Array(text.utf8), limits: HTTP1Limits()), body: body, peer: peer)
        } catch {
            throw HTTP1Error(.badHeader, message: "the head of a request to \(printable(target)) is invalid")
        }
    }
}
