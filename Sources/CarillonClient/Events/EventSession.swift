/// The receiving half of one subscription.
final class EventSession: Sendable {
    func close() async {}
}
