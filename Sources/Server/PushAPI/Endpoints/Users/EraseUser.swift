import PushLoop
package import PushModel
import PushStore

/// `DELETE /v1/users/{user}`: forgets a user.
package struct EraseUser: Endpoint {
    package typealias Input = UserPath

    package static let operation = Operation(
        .delete, at: "/v1/users/{user}", id: "eraseUser", access: .role(.operate), subject: "Users",
        summary: """
            Erases the addresses of a user with all properties, and the name in stored messages; ids stay in past events.
            """,
        problems: [.unknownUser, .unknownApp], records: [.operatorUserErase])

    private let erase: @Sendable (UserErasure) async throws -> ErasedUser
    private let apps: AppCatalog

    /// Creates the endpoint.
    ///
    /// - Parameter erase: forgets a user, and returns when that is on disk.
    package init(apps: AppCatalog, erase: @escaping @Sendable (UserErasure) async throws -> ErasedUser) {
        self.apps = apps
        self.erase = erase
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<UserErasureAnswer> {
        let wanted = try input.apps(of: caller, in: apps)
        let erased: ErasedUser
        do {
            erased = try await erase(UserErasure(of: input.user, in: wanted, at: .current()))
        } catch let fault as ErasureFault {
            var problem = Problem(
                .unavailable, detail: "the user is not erased completely: \(fault.cause); repeat the request")
            // A damaged store does not become sound by another request.
            if let error = fault.cause as? RegistryError, error.code == .damaged {
                problem = Problem(.internal, detail: "\(error)")
            }
            if fault.erased != ErasedUser() {
                problem.changes = changes(fault.erased, of: input, in: wanted, to: "begun, and not ended")
            }
            throw problem
        }
        guard erased != ErasedUser() else { throw input.unknown }
        return Reply(
            UserErasureAnswer(devices: erased.devices, messages: erased.messages),
            changes: changes(
                erased, of: input, in: wanted,
                to: erased.isContinued ? "erased, in more than one attempt" : "erased"))
    }

    private func changes(
        _ erased: ErasedUser, of input: Input, in apps: [AppID]?, to state: String
    ) -> [OperatorChange] {
        input.changes(
            .operatorUserErase, in: apps ?? [], of: "\(erased.devices) devices, \(erased.messages) messages",
            after: state)
    }
}
