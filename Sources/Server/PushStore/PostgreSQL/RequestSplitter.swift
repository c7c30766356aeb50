import PushModel
import PushWire

/// Finds the parts of the requests of a call. It keeps its memory from call to call.
struct RequestSplitter {
    let map: PartitionMap
    /// The part of each request.
    private var parts: [Int] = []
    /// The number of requests by part, and where the next one of the part goes. Both are 0 between two calls.
    private var counts: [Int]
    private var nexts: [Int]

    init(_ map: PartitionMap) {
        self.map = map
        counts = Array(repeating: 0, count: map.count)
        nexts = Array(repeating: 0, count: map.count)
    }

    /// Returns the parts of requests in the order of their first requests, each with the ascending places of its own.
    mutating func split(_ requests: [PushRequest]) -> [(part: Int, places: ArraySlice<Int>)] {
        parts.removeAll(keepingCapacity: true)
        var used: [Int] = []
        for request in requests {
            let part = map.partition(of: request).number
            parts.append(part)
            if counts[part] == 0 { used.append(part) }
            counts[part] += 1
        }
        var start = 0
        for part in used {
            nexts[part] = start
            start += counts[part]
        }
        var places = Array(repeating: 0, count: requests.count)
        for (place, part) in parts.enumerated() {
            places[nexts[part]] = place
            nexts[part] += 1
        }
        return used.map { part in
            defer { (counts[part], nexts[part]) = (0, 0) }
            return (part, places[nexts[part] - counts[part]..<nexts[part]])
        }
    }
}
