package import PushModel

/// The partition of each message: `crc32(message id) mod partitions`.
///
/// All messages with one id belong together, whatever their apps, so that a message to a family of apps is accepted in
/// one transaction. Nodes and SDKs in all languages compute the same partition without a key, so that a producer can
/// connect to the owner. CRC-32 is in the standard library of most languages, and its low bits spread numbers, dates and
/// UUIDs evenly. It is not a defense: a producer may choose ids of one partition, and slows down only what that
/// partition holds. `Documentation/ClusterDecisions.md` has test vectors.
package struct PartitionMap: Sendable, Equatable {
    /// What a store hashes, which never changes in its life: its keys are fingerprints, from which no id can be read.
    package enum Rule: Int32, Sendable {
        /// `app, 0x00, message id`: stores of versions before 3.
        case appAndID = 1
        case id = 2
    }

    /// The number of partitions, which never changes in the life of a cluster.
    package let count: Int
    package let rule: Rule

    /// Creates a map; nil unless `count` is in 1...``PartitionID/maxCount``.
    package init?(count: Int, by rule: Rule = .id) {
        guard (1...PartitionID.maxCount).contains(count) else { return nil }
        self.count = count
        self.rule = rule
    }

    /// Returns the partition of a request. All messages to one Live Activity belong to that of its name, so that one node
    /// orders them.
    package func partition(of request: PushRequest) -> PartitionID {
        guard case .activities(let names) = request.audience, let name = names.first else {
            return partition(of: request.message.app, request.message.id)
        }
        return partition(of: request.message.app, activity: name)
    }

    package func partition(of app: AppID, activity name: String) -> PartitionID {
        var sum = CRC32()
        sum.add(app.name)
        sum.add(0)
        sum.add(name)
        return PartitionID(remainder: sum.value, of: count)
    }

    package func partition(of app: AppID, _ message: MessageID) -> PartitionID {
        var sum = CRC32()
        if rule == .appAndID {
            sum.add(app.name)
            sum.add(0)
        }
        sum.add(message.text)
        return PartitionID(remainder: sum.value, of: count)
    }
}
