package import PushLoop
package import PushModel
package import PushTransport

/// The door of a port: what is open to all is open, and everything else needs a key with a role for it.
package struct GuardedDoor: Door {
    /// The key of a connection's last request, so that the connection ends with the rights of the key.
    final class Mark {
        let key: APIKeyID

        init(_ key: APIKeyID) {
            self.key = key
        }
    }

    private let guardian: LoopBound<RequestGuard>
    private let hosts: AllowedHosts

    package init(_ guardian: LoopBound<RequestGuard>, hosts: AllowedHosts) {
        self.guardian = guardian
        self.hosts = hosts
    }

    package func admit(_ request: HTTP1Request, to operation: Operation) throws(Problem) -> Caller {
        guard case .roles(let roles) = operation.access else { return .anyone }
        try hosts.check(request)
        switch guardian.wrapped.check(request) {
        case .failure(let refusal): throw Problem(refusal)
        case .success(let caller):
            guard roles.contains(where: { caller.allows($0) }) else {
                throw Problem(.forbidden(.roleMissing, key: caller.key))
            }
            return caller
        }
    }

    /// Returns whether the head names a valid key that may push, so that a large body is worth receiving. The signature
    /// is checked when the body has arrived.
    package func mayPush(_ head: HTTP1Head) -> Bool {
        guardian.wrapped.namesPusher(head.headers)
    }
}
