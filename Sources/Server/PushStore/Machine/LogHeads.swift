package import PushModel
package import PushWire

/// The last numbers of one part of the log when this process opened it. The publisher of events continues from them.
package struct LogHeads: Sendable, Equatable {
    package let part: PartitionID
    /// The number of the newest event of the part.
    package let newest: UInt64
    /// The number of the newest event of each topic that the part has.
    package let topics: [LogWriter.Head]

    package init(part: PartitionID, newest: UInt64, topics: [LogWriter.Head]) {
        self.part = part
        self.newest = newest
        self.topics = topics
    }
}
