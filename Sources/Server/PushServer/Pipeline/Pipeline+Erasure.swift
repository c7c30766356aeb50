import PushModel

extension Pipeline {
    /// The number of devices that are erased together.
    private static let erasedAtOnce = 500

    /// Forgets a user. First nothing more is sent, then the data goes.
    ///
    /// - Throws: ``ErasureFault``. Another call continues an erasure that has failed, or that the end of the process has
    ///   cut off.
    func erase(_ order: UserErasure) async throws -> ErasedUser {
        var erased = ErasedUser()
        do {
            let erasure = try await ledger.begin(order)
            erased.isContinued = erasure.pseudonym != order.pseudonym
            router.erase(erasure)
            // A node that does not answer finds no address of the user, and no name in what it reads.
            _ = await node?.askOthers(NodeQuestion(erasing: erasure), for: Bool.self)
            try await eraseDevices(of: erasure, counting: &erased.devices)
            try await registry.wipe()
            erased.messages = try await ledger.erase(erasure)
            return erased
        } catch {
            throw ErasureFault(error, after: erased)
        }
    }

    private func eraseDevices(of erasure: UserErasure, counting count: inout Int) async throws {
        // Without an app: SQLite would read all devices of the app rather than those of the user.
        var filter = DeviceFilter()
        filter.user = erasure.user
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
    }
}
