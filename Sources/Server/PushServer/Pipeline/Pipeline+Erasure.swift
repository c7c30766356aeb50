import PushModel

extension Pipeline {
    /// The number of devices that are erased together.
    private static let erasedAtOnce = 500

    /// Forgets a user. First nothing more is sent, then the data goes.
    func erase(_ erasure: UserErasure) async throws -> ErasedUser {
        router.erase(erasure)
        // A node that does not answer finds no address of the user, and no name in what it reads.
        _ = await node?.askOthers(NodeQuestion(erasing: erasure), for: Bool.self)
        var erased = ErasedUser(devices: try await eraseDevices(of: erasure))
        erased.messages = try await ledger.erase(erasure)
        try await registry.wipe()
        return erased
    }

    private func eraseDevices(of erasure: UserErasure) async throws -> Int {
        // Without an app: SQLite would read all devices of the app rather than those of the user.
        var filter = DeviceFilter()
        filter.user = erasure.user
        var count = 0
        var cursor: AudienceCursor?
        repeat {
            let page = try await registry.list(filter, after: cursor, limit: Self.erasedAtOnce)
            let devices = page.devices.filter { erasure.concerns($0.app) }.map(\.id)
            let erased = try await registry.erase(devices, as: erasure.pseudonym)
            // Another node may have found the devices of a message already.
            if !erased.isEmpty { _ = await node?.askOthers(NodeQuestion(erasing: erasure, erased), for: Bool.self) }
            count += erased.count
            cursor = page.next
        } while cursor != nil
        return count
    }
}
