/// The receiver of one app's deliveries, such as its gateway. It reports the results to the router.
package protocol DeliveryGate: AnyObject, Sendable {
    /// Takes deliveries; may be called on any thread. Each delivery is reported exactly once.
    func submit(_ batch: [Delivery])

    /// Returns the deliveries of cancelled messages (``Message/isWithdrawn``) that were not given to a connection, and
    /// then reports this number as ``GatewayReport/recalled``. May be called on any thread.
    func recall(_ number: UInt64)
}
