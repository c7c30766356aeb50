// Distinctions for which SQLite has no result code. Its English text is the only source, so all code that depends on
// this text is here; `FailureTextTests` compares it with the installed library.

extension SQLiteFailure {
    /// Whether a row refers to a row that does not exist.
    ///
    /// SQLite implements `ON DELETE RESTRICT` and `ON UPDATE RESTRICT` as triggers, and returns the code of a trigger
    /// for them.
    package var isBrokenReference: Bool {
        code == .foreignKey || primary == .constraint && message.hasPrefix("FOREIGN KEY")
    }

    /// Whether the SQL names a table or column that does not exist. SQLite returns ``ResultCode/error`` for all SQL
    /// that it cannot prepare.
    package var isMissingName: Bool {
        // The text may begin with "error in view v: ".
        code == .error
            && (message.firstRange(of: "no such table") != nil || message.firstRange(of: "no such column") != nil)
    }

    /// Whether the result of `sum` or `abs` does not fit 64 bits. SQLite returns ``ResultCode/error`` for all functions
    /// that fail.
    package var isIntegerOverflow: Bool {
        code == .error && message == "integer overflow"
    }

    /// The names of the columns that a constraint is about, as SQLite writes them: "persons.name, persons.age". Nil if
    /// the message names none, or names an index over expressions instead.
    package var constrainedColumns: String? {
        // "UNIQUE constraint failed: t.a", and "cannot store TEXT value in INTEGER column t.a".
        guard
            let start = (message.firstRange(of: "constraint failed: ") ?? message.firstRange(of: " column "))?
                .upperBound, !message[start...].hasPrefix("index '")
        else { return nil }
        return String(message[start...])
    }
}
