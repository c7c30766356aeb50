/// The place at which the nodes of a cluster agree on the brakes of their apps, and count the answers of push services
/// together. A single node has none.
package protocol SharedBrakes: AnyObject, Sendable {
    /// Stores a change of a brake and its event, unless another node was first. One of the nodes publishes the event,
    /// also if this one ends at once. Calls `reply` once, on any thread.
    func decide(_ decision: BrakeDecision, reply: @escaping @Sendable (BrakeVerdict) -> Void)

    /// Tells the other nodes what this one has counted. Returns at once; the latest counts are sent until they arrive.
    func publish(_ counts: [BrakeCounts])
}
