package import PushModel

/// What the router hands the deliveries of one app to. Its reports come back through `Router.report`.
package protocol DeliveryGate: AnyObject, Sendable {
    /// Any thread. Each delivery is reported exactly once.
    func submit(_ batch: [Delivery])
}
