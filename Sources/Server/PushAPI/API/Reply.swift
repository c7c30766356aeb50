package import PushTransport

/// The answer of an endpoint: a status, a body, and header fields.
package struct Reply<Body: AnswerBody>: Sendable {
    package let status: Int
    package let body: Body
    package var headers: HTTP1Headers
    /// What the request has changed, in each app that it concerns; empty if it has changed nothing that is recorded.
    package let changes: [OperatorChange]

    package init(_ body: Body, status: Int = 200, headers: HTTP1Headers = [:], change: OperatorChange? = nil) {
        self.init(body, status: status, headers: headers, changes: change.map { [$0] } ?? [])
    }

    package init(_ body: Body, status: Int = 200, headers: HTTP1Headers = [:], changes: [OperatorChange]) {
        self.changes = changes
        self.status = status
        self.body = body
        self.headers = headers
    }
}
