/// What a gateway hands its owner: what one tick of its loop brought.
package struct GatewayReport: Sendable {
    package let app: AppID
    /// Which gateway, of those that the app has had: one that is leaving still reports. Nil where there is only one.
    package let source: ObjectIdentifier?
    /// In the order in which they ended.
    package var deliveries: [DeliveryReport]
    /// In the order in which they happened; the deliveries of the report came before or between them.
    package var events: [GatewayEvent]
    /// How many more deliveries it wants, on top of the first `taken` that were submitted. What an owner may still
    /// submit is `credit` less what it has submitted beyond those.
    package var credit: Int
    /// How many deliveries had arrived in all when `credit` was reckoned.
    package var taken: UInt64

    package init(
        app: AppID, source: ObjectIdentifier? = nil, deliveries: [DeliveryReport] = [], events: [GatewayEvent] = [],
        credit: Int, taken: UInt64
    ) {
        self.app = app
        self.source = source
        self.deliveries = deliveries
        self.events = events
        self.credit = credit
        self.taken = taken
    }
}
