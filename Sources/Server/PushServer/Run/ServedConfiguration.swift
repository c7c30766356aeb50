import PushAPI
import PushLoop

/// The configuration of the running Carillon, for the endpoints, which exist before its start is complete.
final class ServedConfiguration: ConfigurationControl {
    private final class Reference: Sendable {
        private let carillon: @Sendable () -> RunningCarillon?

        init(_ carillon: RunningCarillon) {
            self.carillon = { [weak carillon] in carillon }
        }

        var object: RunningCarillon? { carillon() }
    }

    private let reference = Locked<Reference?>(nil)

    func started(_ carillon: RunningCarillon) {
        reference.withLock { $0 = Reference(carillon) }
    }

    private var carillon: RunningCarillon? { reference.withLock { $0 }?.object }

    func configuration() async -> ConfigurationAnswer? { await carillon?.describeConfiguration() }
    func reload() async -> ReloadAnswer? { await carillon?.reload() }
}

/// Runs reloads one after the other, whether a signal or a request has caused them.
final class ReloadQueue: Sendable {
    private let last = Locked<Task<ReloadAnswer, Never>?>(nil)

    func run(_ reload: @escaping @Sendable () async -> ReloadAnswer) async -> ReloadAnswer {
        let task = last.withLock { last in
            let before = last
            let task = Task {
                _ = await before?.value
                return await reload()
            }
            last = task
            return task
        }
        return await task.value
    }
}
