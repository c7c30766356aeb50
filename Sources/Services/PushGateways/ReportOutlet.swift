package import PushLoop
package import PushModel

/// The way of reports to their receiver: they run on its loop, in the order in which they were sent.
package struct ReportOutlet<Report: Sendable>: Sendable {
    private let loop: EventLoop
    private let take: @Sendable (Report) -> Void

    /// - Parameter take: runs on `loop`, never from within the call that sends.
    package init(on loop: EventLoop, take: @escaping @Sendable (Report) -> Void) {
        self.loop = loop
        self.take = take
    }

    package func send(_ report: Report) {
        loop.execute { [take] in take(report) }
    }
}

/// The outlet of a connection, to its gateway. Deliveries are reported in batches.
package typealias ConnectionOutlet = ReportOutlet<ConnectionReport>

/// The outlet of a gateway, to its owner. There is at most one report for each tick.
package typealias GatewayClient = ReportOutlet<GatewayReport>
