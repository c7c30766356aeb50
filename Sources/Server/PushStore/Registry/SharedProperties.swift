import PushModel

/// What the addresses of an installation have in common.
struct SharedProperties: Equatable {
    var user: ExactText?
    var locale: ExactText?
    var timeZone: ExactText?
    var tags: Set<ExactText>

    init(_ device: Device, tags: Set<ExactText>) {
        user = device.user.map { ExactText($0) }
        locale = device.locale.map { ExactText($0) }
        timeZone = device.timeZone.map { ExactText($0) }
        self.tags = tags
    }

    /// The properties after a registration.
    ///
    /// - Parameters:
    ///   - others: Those of the installation; nil if the address belongs to none, or is its first one.
    ///   - replaced: The address that it replaces by name.
    ///   - device: The address as it is stored, with its tags.
    init(
        of registration: DeviceRegistration, others: SharedProperties?, replaced: DeviceChange?, _ device: Device,
        tags: Set<ExactText>
    ) {
        self = others ?? SharedProperties(device, tags: tags)
        if others == nil, let old = replaced?.after {
            user = old.user.map { ExactText($0) } ?? user
            locale = old.locale.map { ExactText($0) } ?? locale
            timeZone = old.timeZone.map { ExactText($0) } ?? timeZone
        }
        if others == nil, let replaced { self.tags.formUnion(replaced.tags) }
        user = Self.property(registration.user, else: user)
        locale = Self.property(registration.locale, else: locale)
        timeZone = Self.property(registration.timeZone, else: timeZone)
        if let given = registration.tags { self.tags = Set(given.map { ExactText($0) }) }
    }

    func set(in device: inout Device) {
        (device.user, device.locale, device.timeZone) = (user?.text, locale?.text, timeZone?.text)
    }

    /// Returns the given value, or else the other one. An empty text removes the property.
    private static func property(_ given: String?, else other: ExactText?) -> ExactText? {
        guard let given else { return other }
        return given.isEmpty ? nil : ExactText(given)
    }
}

extension DeviceRegistration {
    /// Whether the registration states what the addresses of an installation have in common.
    var namesShared: Bool { user != nil || tags != nil || locale != nil || timeZone != nil }
}
