import Foundation

/// The stored responses on disk: one file for each, which is written under another name and then renamed.
struct DiskTier: Sendable {
    private let directory: URL
    private var list: RecentList<CacheKey, Void>

    /// Opens a directory, and creates it if it is missing. Files that are not those of a cache stay as they are.
    init(_ directory: URL, maxBytes: Int) throws(RequestError) {
        self.directory = directory
        list = RecentList(maxSize: maxBytes)
        let files = FileManager.default
        do {
            // Responses may be private.
            try files.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw RequestError(
                .fileUnwritable,
                message: "cannot create the directory \(directory.path) of a cache: \(error.localizedDescription)")
        }
        var found: [(key: CacheKey, size: Int, used: Date)] = []
        for name in (try? files.contentsOfDirectory(atPath: directory.path)) ?? [] {
            guard let attributes = try? files.attributesOfItem(atPath: directory.appendingPathComponent(name).path),
                attributes[.type] as? FileAttributeType == .typeRegular
            else { continue }
            if AtomicFile.isTemporary(name) { try? files.removeItem(at: directory.appendingPathComponent(name)) }
            guard let key = CacheKey(name: name) else { continue }
            let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
            found.append((key, size, attributes[.modificationDate] as? Date ?? .distantPast))
        }
        for entry in found.sorted(by: { ($0.used, $0.key.variant) < ($1.used, $1.key.variant) }) {
            // Not as an argument of the call: its `self` would be a second reference to the list, which would be copied.
            let removed = list.set(entry.key, to: (), size: entry.size)
            delete(removed)
        }
    }

    var size: Int { list.size }

    var keys: [CacheKey] { Array(list.keys) }

    func has(_ key: CacheKey) -> Bool { list.peek(key) != nil }

    /// Returns a stored response; nil if it is absent or damaged. A damaged file is deleted.
    mutating func load(_ key: CacheKey) -> StoredResponse? {
        guard list.peek(key) != nil else { return nil }
        guard let data = try? Data(contentsOf: path(key)), let stored = EntryCoding.decode(data) else {
            remove(key)
            return nil
        }
        _ = list.use(key)
        try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path(key).path)
        return stored
    }

    /// Makes a stored response the most recently used one.
    mutating func touch(_ key: CacheKey) { _ = list.use(key) }

    /// Returns the head of a stored response, without reading its body.
    func head(_ key: CacheKey) -> StoredResponse.Head? {
        guard let handle = try? FileHandle(forReadingFrom: path(key)) else { return nil }
        defer { try? handle.close() }
        // Most heads are smaller; the rest of the file is read only if this one is not.
        guard let first = try? handle.read(upToCount: 16_384) else { return nil }
        if let head = EntryCoding.decodeHead(first) { return head }
        guard let rest = try? handle.readToEnd() else { return nil }
        return EntryCoding.decodeHead(first + rest)
    }

    /// Stores a response, and returns the keys that are not on disk any more. A full disk loses the response, and the
    /// one that it replaces.
    mutating func save(_ stored: StoredResponse, key: CacheKey) -> [CacheKey] {
        guard let data = try? EntryCoding.encode(stored), data.count <= list.maxSize,
            (try? AtomicFile.write(data, to: path(key))) != nil
        else {
            remove(key)
            return [key]
        }
        let removed = list.set(key, to: (), size: data.count)
        delete(removed)
        return removed
    }

    mutating func remove(_ key: CacheKey) {
        list.remove(key)
        delete([key])
    }

    private func delete(_ keys: [CacheKey]) {
        for key in keys { try? FileManager.default.removeItem(at: path(key)) }
    }

    private func path(_ key: CacheKey) -> URL { directory.appendingPathComponent(key.description) }
}
