import PushModel

/// The other addresses of the installation of an address that registers.
struct Siblings {
    /// Those that stay beside it, in the order of their ids.
    private(set) var staying: [Device] = []
    /// Those for the same purpose, in whose place it comes.
    private(set) var replaced: [Device] = []
    /// Whether the installation has room for it.
    private(set) var hasRoom = true
    /// Inactive ones that leave the installation, which would have too many addresses.
    private(set) var leaving: [Device] = []

    /// An address without an installation has none.
    init() {}

    /// - Parameters:
    ///   - device: The address, with its place as it will be.
    ///   - others: The addresses of the installation, without it and without the one that it replaces by name.
    ///   - isMember: Whether it already is an active address of the installation.
    init(of device: Device, among others: [Device], isMember: Bool, limit: Int) {
        for other in others {
            if device.hasSamePlace(as: other) { replaced.append(other) } else { staying.append(other) }
        }
        hasRoom = isMember || staying.count { $0.isActive } < limit
        let excess = staying.count + 1 - limit
        guard hasRoom, excess > 0 else { return }
        let oldest = staying.filter { !$0.isActive }
            .sorted {
                ($0.deactivatedAt ?? .distantPast, $0.deviceId) < ($1.deactivatedAt ?? .distantPast, $1.deviceId)
            }
        leaving = Array(oldest.prefix(excess))
        staying.removeAll { device in leaving.contains { $0.deviceId == device.deviceId } }
    }

    /// The siblings of an address that an operator changes: none of them is replaced.
    init(staying: [Device]) {
        self.staying = staying
    }

    /// One of those whose user, tags, locale and time zone are those of the installation; nil if there is none.
    var model: Device? {
        (staying + replaced).max {
            (($0.isActive ? 1 : 0), $0.lastSeen ?? .distantPast) < (($1.isActive ? 1 : 0), $1.lastSeen ?? .distantPast)
        }
    }
}

extension Device {
    /// Whether a newer address replaces the other. A control has an address of its own, and nothing tells two controls
    /// apart.
    fileprivate func hasSamePlace(as other: Device) -> Bool {
        kind == other.kind && kind != Self.number(of: .control)
            && activity.map { ExactText($0) } == other.activity.map { ExactText($0) }
            && activityType.map { ExactText($0) } == other.activityType.map { ExactText($0) }
    }
}
