import PushModel
package import PushTime

/// The endpoints of API keys.
package enum KeyEndpoints {
    /// Returns all these endpoints.
    ///
    package static func all(
        _ registrar: KeyRegistrar, apps: AppCatalog,
        now: @escaping @Sendable () -> WallTime = { .current() }
    ) -> [AnyEndpoint] {
        [
            AnyEndpoint(ListKeys(registrar: registrar, now: now)),
            AnyEndpoint(AddKey(registrar: registrar, apps: apps, now: now)),
            AnyEndpoint(RotateKey(registrar: registrar, now: now)),
            AnyEndpoint(RevokeKey(registrar: registrar, now: now)),
        ]
    }

    /// Runs a change, and turns its faults into problems.
    static func changing<Value>(_ change: () async throws -> Value) async throws -> Value {
        do {
            return try await change()
        } catch let fault as KeyBookFault {
            switch fault {
            case .nameTaken, .tooMany: throw Problem(.conflict, detail: fault.description)
            case .unknownName: throw Problem(.unknownKey, detail: fault.description)
            }
        } catch let fault as KeyRegistrar.Fault {
            throw Problem(.internal, detail: fault.description)
        }
    }
}
