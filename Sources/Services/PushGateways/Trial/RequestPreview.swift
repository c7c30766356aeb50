/// A request as a person may see it, without the address and without secrets.
package struct RequestPreview: Sendable {
    /// What goes where, such as "POST https://push.example.com:443/send".
    package let line: String
    package let fields: [(name: String, text: String)]

    /// What is sent of the payload; nil if it is sent as it is.
    package let payload: [UInt8]?

    package init(_ line: String, fields: [(name: String, text: String)], payload: [UInt8]? = nil) {
        self.line = line
        self.fields = fields
        self.payload = payload
    }
}
