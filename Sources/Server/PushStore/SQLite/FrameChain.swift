/// Follows the chain of checksums through the frames of a write-ahead log (https://www.sqlite.org/fileformat2.html), also
/// behind the first frame that breaks it, where SQLite's reading ends.
///
/// Each transaction is synced before the next one is written. A power failure therefore leaves at most one transaction
/// in pieces, and nothing behind it. If a commit is followed by a sound frame, both behind the break, the transaction of
/// that commit was on disk, and something has changed it since.
struct FrameChain {
    static let headerSize = 32
    static let frameHeaderSize = 24

    private let salts: (UInt32, UInt32)
    private let isBigEndian: Bool
    private var sums: (UInt32, UInt32)
    private(set) var isBroken: Bool
    /// The commits at and behind the break.
    private(set) var lostCommits = 0
    /// The frames at and behind the break.
    private(set) var lostFrames = 0
    /// Whether a transaction that was on disk is behind the break.
    private(set) var hasLoss = false

    /// The size of the pages, or 0 if the header is damaged.
    let pageSize: Int

    /// Begins with the header of the log and that of its first frame.
    init(_ header: UnsafeRawBufferPointer, first frame: UnsafeRawBufferPointer) {
        let magic = unsafe header.bigEndianWord(at: 0)
        let isNamedBig = magic & 1 == 1
        let computed = unsafe Self.sum(header.prefix(24), from: (0, 0), isBigEndian: isNamedBig)
        sums = unsafe (header.bigEndianWord(at: 24), header.bigEndianWord(at: 28))
        let salts = unsafe (header.bigEndianWord(at: 16), header.bigEndianWord(at: 20))
        let isSound = magic | 1 == 0x377f_0683 && computed == sums
        isBroken = !isSound
        // SQLite writes the order of the machine.
        isBigEndian = isSound ? isNamedBig : 1.bigEndian == 1
        pageSize = isSound ? unsafe Int(header.bigEndianWord(at: 8)) : 0
        guard !isSound else {
            self.salts = salts
            return
        }
        // A damaged header differs from its frames in one of the salts at most. When a log restarts, both change.
        let own = unsafe (frame.bigEndianWord(at: 8), frame.bigEndianWord(at: 12))
        self.salts = salts.0 == own.0 || salts.1 == own.1 ? own : salts
    }

    /// Whether a frame is of this log, and not of the one before its restart.
    func owns(_ header: UnsafeRawBufferPointer) -> Bool {
        unsafe header.bigEndianWord(at: 8) == salts.0 && header.bigEndianWord(at: 12) == salts.1
    }

    /// Adds the next frame, of which the page is empty unless the chain owns it.
    mutating func add(_ header: UnsafeRawBufferPointer, page: UnsafeRawBufferPointer) {
        let stored = unsafe (header.bigEndianWord(at: 16), header.bigEndianWord(at: 20))
        defer { sums = stored }
        guard unsafe owns(header) else {
            isBroken = true
            return
        }
        let start = unsafe Self.sum(header.prefix(8), from: sums, isBigEndian: isBigEndian)
        let isSound = unsafe Self.sum(page[...], from: start, isBigEndian: isBigEndian) == stored
        if isSound, !isBroken { return }
        if isSound, lostCommits > 0 { hasLoss = true }
        // What the frame at the break says about itself is believed. Others that are damaged are not.
        if isSound || !isBroken, unsafe header.bigEndianWord(at: 4) != 0 { lostCommits += 1 }
        lostFrames += 1
        isBroken = true
    }

    private static func sum(
        _ bytes: Slice<UnsafeRawBufferPointer>, from start: (UInt32, UInt32), isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        var (first, second) = start
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
            let low = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let high = unsafe bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            first &+= (isBigEndian ? UInt32(bigEndian: low) : UInt32(littleEndian: low)) &+ second
            second &+= (isBigEndian ? UInt32(bigEndian: high) : UInt32(littleEndian: high)) &+ first
        }
        return (first, second)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func bigEndianWord(at offset: Int) -> UInt32 {
        unsafe UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
