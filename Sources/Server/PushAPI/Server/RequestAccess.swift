package import PushModel
package import PushTransport

/// The entrance of a server: it decides whether a request may be carried out. It is called on the loop of its server,
/// before the body is parsed.
package protocol RequestAccess: Sendable {
    func admit(_ request: HTTP1Request, to operation: Operation) throws(Problem) -> Caller
}

/// The control socket. Whoever may open its file may do everything.
package struct ControlAccess: RequestAccess {
    package init() {}

    package func admit(_ request: HTTP1Request, to operation: Operation) -> Caller { .local }
}
