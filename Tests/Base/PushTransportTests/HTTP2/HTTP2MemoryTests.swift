import CNGHTTP2
import TestSupport
import Testing

@testable import PushTransport

@Suite struct HTTP2MemoryTests {
    private struct Block {
        var start: UnsafeMutableRawPointer
        var size: Int
        var mark: UInt8

        func isIntact(_ count: Int) -> Bool {
            UnsafeRawBufferPointer(start: start, count: count).elementsEqual([UInt8](repeating: mark, count: count))
        }
    }

    /// An allocator must return aligned blocks that do not overlap, keep their content on a resize, and zero them for
    /// calloc.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func `Blocks keep their content`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let memory = HTTP2Memory()
        let functions = memory.functions.pointee
        var blocks: [Block] = []
        for round in 0..<4000 {
            let size = Int.random(in: 0...(round % 50 == 0 ? 40_000 : 1200), using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                guard let start = functions.malloc(size, functions.mem_user_data) else { break }
                blocks.append(Block(start: start, size: size, mark: 0))
            case 4:
                guard let start = functions.calloc(3, size, functions.mem_user_data) else { break }
                #expect(Block(start: start, size: 3 * size, mark: 0).isIntact(3 * size))
                blocks.append(Block(start: start, size: 3 * size, mark: 0))
            case 5..<7:
                guard let index = blocks.indices.randomElement(using: &random) else { continue }
                let old = blocks[index]
                guard let start = functions.realloc(old.start, size, functions.mem_user_data) else { break }
                blocks[index] = Block(start: start, size: size, mark: old.mark)
                #expect(blocks[index].isIntact(min(size, old.size)))
                blocks.swapAt(index, blocks.count - 1)
            default:
                guard let index = blocks.indices.randomElement(using: &random) else { continue }
                let block = blocks.remove(at: index)
                #expect(block.isIntact(block.size))
                functions.free(block.start, functions.mem_user_data)
                continue
            }
            guard var last = blocks.popLast() else { continue }
            #expect(Int(bitPattern: last.start) % 16 == 0)
            last.mark = UInt8.random(in: .min ... .max, using: &random)
            last.start.initializeMemory(as: UInt8.self, repeating: last.mark, count: last.size)
            blocks.append(last)
        }
        for block in blocks {
            #expect(block.isIntact(block.size))
            functions.free(block.start, functions.mem_user_data)
        }
    }

    @Test func `A freed block is reused`() {
        let memory = HTTP2Memory()
        let functions = memory.functions.pointee
        let first = functions.malloc(100, functions.mem_user_data)
        functions.free(first, functions.mem_user_data)
        #expect(functions.malloc(101, functions.mem_user_data) == first)
        #expect(functions.malloc(101, functions.mem_user_data) != first)
        #expect(functions.malloc(.max, functions.mem_user_data) == nil)
        #expect(functions.calloc(.max, 2, functions.mem_user_data) == nil)
    }
}
