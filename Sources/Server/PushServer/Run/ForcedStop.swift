import PushLoop

/// The effect of a second signal to stop: deliveries in flight are abandoned, and the process ends within seconds even
/// if something hangs.
final class ForcedStop: Sendable {
    private let log: Logger
    private let home: EventLoop
    private let abandon: @Sendable () -> Void
    private let state = Locked<(gateways: ServedGateways?, task: Task<Void, Never>?)>((nil, nil))

    init(log: Logger, home: EventLoop, abandon: @escaping @Sendable () -> Void) {
        self.log = log
        self.home = home
        self.abandon = abandon
    }

    /// The gateways whose drain is cut short. It is set when they exist.
    var gateways: ServedGateways? {
        get { state.withLock { $0.gateways } }
        set { state.withLock { $0.gateways = newValue } }
    }

    func begin() {
        log.notice("stopping at once, deliveries in flight are abandoned")
        let gateways = gateways
        state.withLock { $0.task = Task { _ = await gateways?.drain(within: .zero) } }
        let abandon = abandon
        home.executeUnlessStopped { [home] in home.schedule(after: .seconds(3)) { abandon() } }
    }

    /// Waits for the drain that `begin` has started.
    func end() async { await state.withLock { $0.task }?.value }
}
