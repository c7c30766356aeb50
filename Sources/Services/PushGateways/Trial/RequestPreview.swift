/// A request as a person may see it, without the address and without secrets.
package struct RequestPreview: Sendable {
    /// What goes where, such as "POST https://push.example.com:443/send".
    package let line: String
    package let fields: [(name: String, text: String)]

    package init(_ line: String, fields: [(name: String, text: String)]) {
        self.line = line
        self.fields = fields
    }
}
