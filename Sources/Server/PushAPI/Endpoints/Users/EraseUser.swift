import PushLoop
package import PushModel

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
    /// Each erasure searches all stored messages.
    private let searches = SearchQueue(1)

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
            erased = try await searches.run { try await erase(UserErasure(of: input.user, in: wanted, at: .current())) }
        } catch let fault as LedgerFault {
            throw Problem(
                .unavailable,
                detail: "the user is not erased in all stored messages: \(fault.description); repeat the request")
        }
        guard erased != ErasedUser() else { throw input.unknown }
        return Reply(
            UserErasureAnswer(devices: erased.devices, messages: erased.messages),
            change: OperatorChange(
                .operatorUserErase, app: input.app, of: "\(erased.devices) devices, \(erased.messages) messages",
                after: "erased"))
    }
}
