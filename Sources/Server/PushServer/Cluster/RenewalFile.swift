import FoundationEssentials
import Glibc
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The file in the data directory with the last acknowledged renewal of this node, for its next process. All functions
/// block.
struct RenewalFile: Sendable {
    static let name = "renewal.json"
    private static let version = 1

    private struct Content: Codable {
        /// The version of the file.
        let v: Int
        let node: String
        let cluster: Int64
        let number: Int64
        let system: UInt64
        let timeline: UInt32
    }

    let path: String

    init(in directory: String) {
        path = "\(directory)/\(Self.name)"
    }

    /// Returns what the last process of this node had seen. It is nil if there is no such file, or if it is not
    /// understood: without it, the node only does not notice a restored database.
    func read() -> SeenRenewal? {
        guard let bytes = try? BoundedFile.read(path, limit: 4096),
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), content.v == Self.version,
            let node = NodeID(content.node)
        else { return nil }
        return SeenRenewal(
            content.number, node: node, cluster: content.cluster, system: content.system, timeline: content.timeline)
    }

    /// Replaces the file. Nothing is synced: an older number after a power failure costs nothing, and no file is like an
    /// old one.
    func write(_ seen: SeenRenewal) throws(SystemError) {
        let content = Content(
            v: Self.version, node: seen.node, cluster: seen.cluster, number: seen.number, system: seen.system,
            timeline: seen.timeline)
        guard let bytes = (try? JSONEncoder().encode(content)).map({ [UInt8]($0) }) else { return }
        try WholeFile.write(bytes, to: path, until: .process)
    }
}
