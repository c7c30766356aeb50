extension SQLText {
    /// Appends WHERE and the criterion, or nothing if it is true for every row.
    mutating func append<Record>(where criteria: Criteria<Record>, in table: Table<Record>) throws {
        if case .constant(true) = criteria.node { return }
        append(" WHERE ")
        try append(criteria, in: table)
    }

    mutating func append<Record>(_ criteria: Criteria<Record>, in table: Table<Record>) throws {
        try append(criteria.node, isNegated: false, in: table, at: Depth())
    }

    /// The nesting of a part within the statement. SQLite limits both numbers.
    struct Depth {
        var parentheses = 0
        /// The number of operators from the root of the expression.
        var operators = 0

        /// Returns the depth inside of EXISTS (SELECT … WHERE …), which uses as much of the parser's stack as four
        /// parentheses.
        func insideSelect(of table: String) throws(ActiveObjectError) -> Depth {
            var depth = self
            depth.parentheses += 3
            depth.operators += 4
            return try depth.inside(chainOf: 1, table: table)
        }

        func inside(chainOf count: Int, table: String) throws(ActiveObjectError) -> Depth {
            let depth = Depth(parentheses: parentheses + 1, operators: operators + count)
            // SQLite 3.40 allows 28 and 1,000. The rest is reserved for the surrounding statement.
            guard depth.parentheses <= 20, depth.operators <= 950 else { throw Self.tooDeep(table) }
            return depth
        }

        static func tooDeep(_ table: String) -> ActiveObjectError {
            ActiveObjectError(
                .badSQL, message: "a criterion of \(table) nests && and || deeper than SQLite allows; write it flatter",
                table: table)
        }
    }

    /// The maximum number of operands in one group. More operands are split into nested groups, because SQLite parses
    /// `a AND b AND c` as a tree that is as deep as the chain is long.
    private static let chainLimit = 32

    mutating func append<Record>(
        _ node: CriteriaNode<Record>, isNegated: Bool, in table: Table<Record>, at depth: Depth
    ) throws {
        switch node {
        case .constant(let value): append(value != isNegated ? "1" : "0")
        case .condition(let condition): try append(condition, isNegated: isNegated, in: table)
        case .related(let test): try test.append(&self, isNegated, table, depth)
        case .not(let node): try append(node, isNegated: !isNegated, in: table, at: depth)
        case .chain(let junction, let list):
            // De Morgan: !(a && b) is !a || !b.
            let joint = (isNegated ? junction.other : junction) == .and ? " AND " : " OR "
            try append(list.nodes[...], joint: joint, isNegated: isNegated, in: table, at: depth)
        case .tooDeep: throw Depth.tooDeep(table.name)
        }
    }

    private mutating func append<Record>(
        _ nodes: ArraySlice<CriteriaNode<Record>>, joint: String, isNegated: Bool, in table: Table<Record>,
        at depth: Depth
    ) throws {
        append("(")
        if nodes.count <= Self.chainLimit {
            let depth = try depth.inside(chainOf: nodes.count, table: table.name)
            for (index, node) in nodes.enumerated() {
                if index > 0 { append(joint) }
                try append(node, isNegated: isNegated, in: table, at: depth)
            }
            // Check here too, so that SQL with too many values does not grow to its end.
            try checkCount(of: table.name)
        } else {
            let depth = try depth.inside(chainOf: Self.chainLimit, table: table.name)
            let size = (nodes.count + Self.chainLimit - 1) / Self.chainLimit
            for start in stride(from: nodes.startIndex, to: nodes.endIndex, by: size) {
                if start > nodes.startIndex { append(joint) }
                let part = nodes[start..<Swift.min(start + size, nodes.endIndex)]
                try append(part, joint: joint, isNegated: isNegated, in: table, at: depth)
            }
        }
        append(")")
    }
}
