/// The urgency of a message. With 10 the device gets it at once, with 5 when power allows; 1 never wakes the device. Each
/// push service has words of its own for them.
package enum PushPriority: UInt8, CaseIterable, Sendable {
    case ten = 10
    case five = 5
    case one = 1
}
