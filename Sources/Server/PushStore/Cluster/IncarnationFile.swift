import Glibc
import PushLoop
import PushModel

/// The file in the data directory with the last incarnations of this node, one in a line. A process that holds the lock
/// of the directory knows that the processes that had these incarnations have ended. All functions block.
struct IncarnationFile: Sendable {
    static let name = "incarnations"
    /// Rows of earlier incarnations have been replaced long ago.
    static let maxCount = 32
    /// A line has at most 19 digits.
    private static let maxSize = 4096

    private let directory: String
    private var path: String { "\(directory)/\(Self.name)" }

    init(in directory: String) {
        self.directory = directory
    }

    /// Returns the incarnations, the latest one last; none if there is no file.
    func read() throws(StoreError) -> [NodeIncarnation] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0, errno == ENOENT { return [] }
        guard descriptor >= 0 else { throw failure(.cannotRead, "read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.maxSize)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure(.cannotRead, "read") }
        var found: [NodeIncarnation] = []
        for line in bytes[..<count].split(separator: UInt8(ascii: "\n")) {
            // A line that was damaged costs the wait for one lease, and nothing else.
            if let number = Int64(String(decoding: line, as: UTF8.self)), let known = NodeIncarnation(number) {
                found.append(known)
            }
        }
        return found.suffix(Self.maxCount)
    }

    /// Replaces the file. Returns when the file and its name are on disk.
    func write(_ incarnations: [NodeIncarnation]) throws(StoreError) {
        let bytes = Array(incarnations.suffix(Self.maxCount).map { "\($0)\n" }.joined().utf8)
        do {
            try WholeFile.write(bytes, to: path, until: .name)
        } catch {
            throw failure(.cannotWrite, "write", because: error)
        }
    }

    private func failure(
        _ code: StoreError.Code, _ action: String, because error: SystemError = .current
    ) -> StoreError {
        StoreError(code, "cannot \(action) \(path): \(error)")
    }
}
