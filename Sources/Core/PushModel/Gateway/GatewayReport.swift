/// The report of a gateway to its owner: the results of one tick of its event loop.
package struct GatewayReport: Sendable {
    package let app: AppID
    /// The gateway of the app that reports: a gateway that is being replaced still reports. Nil if there is only one.
    package let source: ObjectIdentifier?
    /// The outcomes in the order in which the deliveries ended.
    package var deliveries: [DeliveryReport]
    /// The events in their order. The deliveries of the report ended before or between them.
    package var events: [GatewayEvent]
    /// How many deliveries the gateway wants beyond the first `taken` that were submitted. The owner may submit
    /// `credit` minus the number that it has submitted since then.
    package var credit: Int
    /// How many deliveries had arrived in total when `credit` was computed.
    package var taken: UInt64
    /// The number of the last recall that was carried out.
    package var recalled: UInt64

    package init(
        app: AppID, source: ObjectIdentifier? = nil, deliveries: [DeliveryReport] = [], events: [GatewayEvent] = [],
        credit: Int, taken: UInt64, recalled: UInt64 = 0
    ) {
        self.app = app
        self.source = source
        self.deliveries = deliveries
        self.events = events
        self.credit = credit
        self.taken = taken
        self.recalled = recalled
    }
}
