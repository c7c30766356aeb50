package import PushModel

/// The devices that nothing is sent to, and why.
struct SuppressedDevices {
    let inactive: any DeviceSet
    /// Those of them whose users were erased.
    let erased: any DeviceSet
    let ownerChanges: any OwnerChanges
    /// The latest users that were erased.
    var users: [UserErasure] = []

    init(inactive: any DeviceSet, erased: any DeviceSet, ownerChanges: any OwnerChanges) {
        (self.inactive, self.erased, self.ownerChanges) = (inactive, erased, ownerChanges)
    }
}

/// Users that were erased while messages to them are in memory.
extension RouterMachine {
    /// The number of erasures that are remembered. A message in memory that names a user who was erased before these
    /// finds no address, and has no outcome for the user.
    private static let maxErasures = 256

    var inactive: any DeviceSet { suppressed.inactive }
    var erased: any DeviceSet { suppressed.erased }

    /// Forgets a user in the messages whose devices are looked up from now on.
    package mutating func erase(_ erasure: UserErasure) {
        if let index = suppressed.users.firstIndex(where: { $0.pseudonym == erasure.pseudonym }) {
            // An erasure that is continued also concerns what was accepted meanwhile.
            suppressed.users[index] = erasure
            return
        }
        if suppressed.users.count >= Self.maxErasures { suppressed.users.removeFirst() }
        suppressed.users.append(erasure)
    }

    /// Returns the audience of a message without the users that were erased since it was accepted.
    func audience(of accepted: AcceptedMessage) -> Audience {
        suppressed.users.reduce(accepted.audience) { audience, erasure in
            guard accepted.acceptedAt <= erasure.time, erasure.concerns(accepted.message.app) else { return audience }
            return erasure.applied(to: audience) ?? audience
        }
    }

    /// Returns why nothing is sent to a device that was found earlier; nil if it is still as it was.
    func suppression(of device: DeviceID, foundAt: UInt32, for message: MessageHandle) -> DeliveryOutcome? {
        if !inactive.isEmpty, inactive.contains(device) { return suppression(of: device) }
        return otherOwner(of: device, foundAt: foundAt, for: message)
    }

    func otherOwner(of device: DeviceID, foundAt: UInt32, for message: MessageHandle) -> DeliveryOutcome? {
        if suppressed.ownerChanges.latest == foundAt { return nil }
        return suppressed.ownerChanges.obstacle(to: device, foundAt: foundAt, of: messages[message].accepted)
            .map { .suppressed($0) }
    }

    /// Returns why nothing is sent to an inactive device.
    func suppression(of device: DeviceID) -> DeliveryOutcome {
        .suppressed(!erased.isEmpty && erased.contains(device) ? .erased : .inactive)
    }
}
