package import PushModel

extension MessageSummary {
    /// The states from the one that decides that of a family: its message is completed when those of all members are.
    private static let deciding: [State] = [.sending, .waiting, .cancelled, .expired, .completed, .rejected]

    /// Creates the summary of a message to a family: counts are sums, and what all members have in common is that of the
    /// first one. Nil without a member that has such a message.
    package init?(of family: AppID, members: [MessageSummary]) {
        guard let first = members.first else { return nil }
        self = first
        app = family.name
        state = Self.deciding.first { state in members.contains { $0.state == state } } ?? first.state
        acceptedAt = members.compactMap(\.acceptedAt).min()
        let ends = members.compactMap(\.completedAt)
        completedAt = ends.count == members.count ? ends.max() : nil
        acceptances = members.map(\.acceptances).max() ?? first.acceptances
        duplicates = members.map(\.duplicates).max() ?? first.duplicates
        for member in members.dropFirst() {
            counts += member.counts
            retries &+= member.retries
        }
        devices = members.reduce(into: UInt64?(0)) { sum, member in
            sum = sum.flatMap { sum in member.devices.map { sum &+ $0 } }
        }
        isWhole = members.allSatisfy(\.isWhole)
        cancelledBy = members.compactMap(\.cancelledBy).first
        obstacle = nil
        self.members = members
    }
}
