# Trees of R for the corpus of model files.
#
# Rscript corpus.R fit FOLDER            reads rows.csv, writes KIND.txt as R prints it, and KIND.rds, for each kind
# Rscript corpus.R predict FOLDER KIND   reads records.csv, writes what the tree of a kind predicts to answers.csv

arguments <- commandArgs(TRUE)
setwd(arguments[2])
rows <- read.csv("rows.csv", stringsAsFactors = TRUE)
rows$two <- factor(rows$two)
rows$three <- factor(rows$three)
known <- function(package) requireNamespace(package, quietly = TRUE)
options(digits = 15, width = 10000)

if (arguments[1] == "fit") {
  set.seed(0)
  keep <- function(kind, fitted, text = capture.output(print(fitted))) {
    writeLines(text, paste0(kind, ".txt"))
    saveRDS(fitted, paste0(kind, ".rds"))
  }
  if (known("rpart")) {
    library(rpart)
    grown <- rpart.control(cp = 0.001, minsplit = 20)
    trees <- list(
      two = rpart(two ~ x0 + x1 + x2, rows, method = "class", control = grown),
      three = rpart(three ~ x0 + x1 + x2, rows, method = "class", control = grown),
      number = rpart(number ~ x0 + x1 + x2, rows, method = "anova", control = grown),
      weights = rpart(two ~ x0 + x1 + x2, rows, method = "class", control = grown, weights = 1 + rows$number %% 1),
      leaf = rpart(two ~ x0, rows, method = "class", control = rpart.control(maxdepth = 1, cp = 1))
    )
    for (kind in names(trees)) keep(paste0("rpart_", kind), trees[[kind]], capture.output(print(trees[[kind]], digits = 15)))
    if (known("partykit")) {
      keep("party_of_rpart", partykit::as.party(trees$two))
      keep("party_of_rpart_number", partykit::as.party(trees$number))
    }
  }
  if (known("partykit")) {
    keep("ctree_two", partykit::ctree(two ~ x0 + x1 + x2, rows))
    keep("ctree_three", partykit::ctree(three ~ x0 + x1 + x2, rows))
    keep("ctree_number", partykit::ctree(number ~ x0 + x1 + x2, rows))
  }
  if (known("party")) keep("party_ctree_two", party::ctree(two ~ x0 + x1 + x2, rows))
  if (known("randomForest")) {
    forest <- randomForest::randomForest(two ~ x0 + x1, rows, ntree = 1, maxnodes = 12)
    keep("randomForest", forest, capture.output(print(randomForest::getTree(forest, 1, labelVar = TRUE))))
  }
} else {
  fitted <- readRDS(paste0(arguments[3], ".rds"))
  for (package in c("rpart", "partykit", "party", "randomForest")) known(package)
  records <- read.csv("records.csv")
  records$x2 <- factor(records$x2, levels(rows$x2))
  classed <- inherits(fitted, "rpart") && fitted$method == "class"
  answers <- if (classed) predict(fitted, records, type = "class") else predict(fitted, newdata = records)
  write.csv(data.frame(answer = as.vector(answers)), "answers.csv", row.names = FALSE)
}
