/// Encodes the header fields of requests (RFC 7541).
///
/// The fields that requests share go to the dynamic table, where each costs one byte from then on. What differs from
/// request to request is a literal that is not indexed. The bytes between these literals are kept for the next request
/// with the same fields, as long as the table does not change. Strings are not Huffman-coded: the bytes that this would
/// save cost less than the coding.
@safe
struct HPACKEncoder: ~Copyable {
    /// The bytes of a header block without the values that each request has of its own.
    private struct Block {
        let request: UInt64
        let generation: UInt64
        /// From this number of requests on, fields that had no room in the table may get some.
        let staleAt: UInt64
        var bytes: [UInt8] = []
        /// The end of the bytes in front of each value.
        var ends: [Int] = []
    }

    /// Whether the fields of a block may replace older ones, and whether they did.
    private struct Room {
        let mayEvict: Bool
        var hasEvicted = false
        var hasRefused = false
    }

    /// The size of the table that is used, even if the peer allows more.
    private static let maxTableSize = HPACKDynamicTable.initialLimit
    /// The largest number of blocks that are kept: as many combinations of fields alternate on a connection.
    private static let maxBlocks = 16
    /// The number of requests between evictions. If the table is too small for all combinations of fields, this bounds
    /// the cost of the changes.
    private static let requestsPerEviction: UInt64 = 64
    /// Two updates of the size of the table.
    private static let maxUpdateLength = 12

    private var table = HPACKDynamicTable()
    private var blocks: [Block] = []
    private var lastBlock = 0
    private var oldestBlock = 0
    private var requests: UInt64 = 0
    private var evictsAt: UInt64 = 0
    /// The smallest size of the table that the peer has asked for since the last block. The block begins with it.
    private var smallestSize: Int?
    private var wantedSize = HPACKEncoder.maxTableSize

    /// The size and the number of entries of the dynamic table.
    var tableSize: Int { table.size }
    var tableCount: Int { table.count }

    /// Follows a setting of the peer. It takes effect with the next block.
    mutating func setTableSize(_ size: UInt32) {
        wantedSize = min(Int(size), Self.maxTableSize)
        guard smallestSize != nil || wantedSize != table.limit else { return }
        smallestSize = min(smallestSize ?? wantedSize, wantedSize)
    }

    /// Returns a number of bytes that the block of a request does not exceed.
    static func maxLength(
        of request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>
    ) -> Int {
        var length = maxUpdateLength + request.maxFixedLength
        for index in 0..<values.count { unsafe length += values[index].count }
        return length
    }

    /// Writes the block of a request to `target`, which has room for `maxLength`. Returns its length.
    mutating func encode(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>,
        to target: UnsafeMutableRawPointer
    ) -> Int {
        requests += 1
        var end = unsafe target
        if let smallest = smallestSize.take() {
            unsafe writeUpdate(smallest, to: &end)
            if wantedSize != smallest { unsafe writeUpdate(wantedSize, to: &end) }
        }
        if let index = indexOfBlock(for: request.id) {
            unsafe Self.write(blocks[index], values: values, to: &end)
        } else {
            let block = unsafe makeBlock(for: request, values: values)
            unsafe Self.write(block, values: values, to: &end)
            // A block that adds entries is of no use for the next request.
            if block.generation == table.generation { keep(block) }
        }
        return unsafe end - target
    }

    // MARK: Blocks

    private mutating func indexOfBlock(for request: UInt64) -> Int? {
        if lastBlock < blocks.count, isCurrent(lastBlock, for: request) { return lastBlock }
        for index in blocks.indices where isCurrent(index, for: request) {
            lastBlock = index
            return index
        }
        return nil
    }

    private func isCurrent(_ index: Int, for request: UInt64) -> Bool {
        blocks[index].request == request && blocks[index].generation == table.generation
            && requests < blocks[index].staleAt
    }

    private mutating func keep(_ block: Block) {
        if let index = blocks.firstIndex(where: { $0.request == block.request }) {
            blocks[index] = block
            lastBlock = index
        } else if blocks.count < Self.maxBlocks {
            lastBlock = blocks.count
            blocks.append(block)
        } else {
            oldestBlock = (oldestBlock + 1) % Self.maxBlocks
            blocks[oldestBlock] = block
            lastBlock = oldestBlock
        }
    }

    private static func write(
        _ block: borrowing Block, values: UnsafeBufferPointer<UnsafeRawBufferPointer>,
        to target: inout UnsafeMutableRawPointer
    ) {
        unsafe block.bytes.withUnsafeBytes { bytes in
            var start = 0
            for index in 0..<values.count {
                let end = block.ends[index]
                unsafe append(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), to: &target)
                unsafe HPACKInteger.write(values[index].count, prefix: 7, pattern: 0, to: &target)
                unsafe append(values[index], to: &target)
                start = end
            }
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[start...]), to: &target)
        }
    }

    private static func append(_ bytes: UnsafeRawBufferPointer, to target: inout UnsafeMutableRawPointer) {
        guard bytes.count > 0, let start = bytes.baseAddress else { return }
        unsafe target.copyMemory(from: start, byteCount: bytes.count)
        unsafe target += bytes.count
    }

    private mutating func writeUpdate(_ size: Int, to target: inout UnsafeMutableRawPointer) {
        table.resize(to: size)
        unsafe HPACKInteger.write(size, prefix: 5, pattern: 0x20, to: &target)
    }

    // MARK: Making a block

    private mutating func makeBlock(
        for request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>
    ) -> Block {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        let generation = table.generation
        var room = Room(mayEvict: requests >= evictsAt)
        for index in 0..<request.fieldCount {
            let field = unsafe request.field(index)
            let isOwn = unsafe field.isPerRequest
            let value = unsafe isOwn ? values[ends.count] : field.value
            let match = unsafe find(name: field.name, value: value)
            if case .field(let index) = match, unsafe field.isRepeated {
                HPACKInteger.append(index, prefix: 7, pattern: 0x80, to: &bytes)
                continue
            }
            let isAdded = unsafe adds(field, value: value, match: match, room: &room)
            unsafe Self.appendName(field.name, match: match, isAdded: isAdded, to: &bytes)
            if isOwn {
                ends.append(bytes.count)
            } else {
                HPACKInteger.append(value.count, prefix: 7, pattern: 0, to: &bytes)
                unsafe bytes.append(contentsOf: value)
            }
        }
        let staleAt = room.hasRefused ? evictsAt : .max
        if room.hasEvicted { evictsAt = requests + Self.requestsPerEviction }
        return Block(request: request.id, generation: generation, staleAt: staleAt, bytes: bytes, ends: ends)
    }

    private func find(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> HPACKMatch {
        let known = unsafe HPACKStaticTable.find(name: name, value: value)
        if case .field = known { return known }
        let own = unsafe table.find(name: name, value: value)
        if case .field = own { return own }
        return known == .none ? own : known
    }

    /// Adds a field to the table if it is repeated, or if at least its name is. Returns whether it did.
    private mutating func adds(
        _ field: HTTP2PreparedRequest.StoredField, value: UnsafeRawBufferPointer, match: HPACKMatch,
        room: inout Room
    ) -> Bool {
        guard unsafe field.isRepeated || match == .none else { return false }
        let size = unsafe field.name.count + value.count + HPACKDynamicTable.overhead
        guard size <= table.limit else { return false }
        if table.size + size > table.limit {
            guard room.mayEvict else {
                room.hasRefused = true
                return false
            }
            room.hasEvicted = true
        }
        unsafe table.insert(name: field.name, value: value)
        return true
    }

    private static func appendName(
        _ name: UnsafeRawBufferPointer, match: HPACKMatch, isAdded: Bool, to bytes: inout [UInt8]
    ) {
        let (prefix, pattern): (Int, UInt8) = isAdded ? (6, 0x40) : (4, 0)
        switch match {
        case .name(let index), .field(let index):
            HPACKInteger.append(index, prefix: prefix, pattern: pattern, to: &bytes)
        case .none:
            bytes.append(pattern)
            HPACKInteger.append(name.count, prefix: 7, pattern: 0, to: &bytes)
            unsafe bytes.append(contentsOf: name)
        }
    }
}

/// Integers of header compression (RFC 7541, section 5.1): the lower bits of a byte with a pattern above them, and
/// seven bits in each further byte.
enum HPACKInteger {
    static func write(_ number: Int, prefix: Int, pattern: UInt8, to target: inout UnsafeMutableRawPointer) {
        let most = 1 << prefix - 1
        guard number >= most else {
            unsafe store(pattern | UInt8(truncatingIfNeeded: number), to: &target)
            return
        }
        unsafe store(pattern | UInt8(truncatingIfNeeded: most), to: &target)
        var rest = number - most
        while rest >= 128 {
            unsafe store(UInt8(truncatingIfNeeded: rest) | 0x80, to: &target)
            rest >>= 7
        }
        unsafe store(UInt8(truncatingIfNeeded: rest), to: &target)
    }

    private static func store(_ byte: UInt8, to target: inout UnsafeMutableRawPointer) {
        unsafe target.storeBytes(of: byte, as: UInt8.self)
        unsafe target += 1
    }

    static func append(_ number: Int, prefix: Int, pattern: UInt8, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 10, alignment: 1) { room in
            guard let start = room.baseAddress else { return }
            var end = unsafe start
            unsafe write(number, prefix: prefix, pattern: pattern, to: &end)
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(end - start)]))
        }
    }
}
