package import PushLoop
package import PushModel
package import PushTransport

/// The access to a port: what is open to all is open, and everything else needs a key with a role for it.
package struct KeyedAccess: RequestAccess {
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
        let guardian = guardian.wrapped
        if !guardian.isUsualHost(of: request.headers) {
            do throws(Problem) {
                try hosts.check(request)
            } catch {
                guardian.logRefusal(error, peer: request.peer)
                throw error
            }
            guardian.noteHost(of: request.headers)
        }
        switch guardian.check(request, takesKeyField: operation.takesKeyField) {
        case .failure(let refusal): throw Problem(refusal)
        case .success(let caller):
            guard roles.contains(where: { caller.allows($0) }) else {
                let refusal = AccessRefusal.forbidden(.roleMissing, key: caller.key)
                guardian.logRefusal(refusal, peer: request.peer)
                throw Problem(refusal, needing: roles)
            }
            return caller
        }
    }

    /// Returns whether the head is that of a client which may push, so that a large body is worth receiving.
    package func mayPush(_ head: HTTP1Head) -> Bool {
        guardian.wrapped.isPusher(head)
    }
}
